import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

/** A field that a generated class has in a version: from its schema for that version, with its getter and setter. */
final class Slot {
    private static final Map<String, List<Slot>> KNOWN = new ConcurrentHashMap<>();
    private static final ObjectMapper JSON = new ObjectMapper();

    final String name;
    final Type type;
    final int tag;
    final java.lang.reflect.Type javaType;
    private final Method getter;
    private final Method setter;

    private Slot(Class<?> owner, Field field, int tag) throws ReflectiveOperationException {
        java.lang.reflect.Field found = null;
        for (java.lang.reflect.Field candidate : owner.getDeclaredFields()) {
            if (candidate.getName().equalsIgnoreCase(field.name.replace("_", ""))) {
                found = candidate;
            }
        }
        if (found == null) {
            throw new NoSuchFieldException(owner.getName() + " " + field.name);
        }
        this.name = found.getName();
        this.type = field.type;
        this.tag = tag;
        this.javaType = found.getGenericType();
        this.getter = owner.getMethod(name);
        String capitalised = Character.toUpperCase(name.charAt(0)) + name.substring(1);
        this.setter = owner.getMethod("set" + capitalised, found.getType());
    }

    Object get(Message message) {
        try {
            return getter.invoke(message);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    void set(Message message, Object value) {
        try {
            setter.invoke(message, value);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static Schema schema(Class<?> owner, short version) {
        try {
            return ((Schema[]) owner.getField("SCHEMAS").get(null))[version];
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static boolean flexible(Class<?> owner, short version) {
        for (BoundField field : schema(owner, version).fields()) {
            if (field.def.type instanceof TaggedFields) {
                return true;
            }
        }
        return false;
    }

    /** The fields of a version: first those that are always written, then the tagged ones. */
    static List<Slot> of(Class<?> owner, short version) {
        String key = owner.getName() + " " + version;
        List<Slot> known = KNOWN.get(key);
        if (known == null) {
            known = read(owner, version);
            KNOWN.put(key, known);
        }
        return known;
    }

    private static List<Slot> read(Class<?> owner, short version) {
        List<Slot> found = new ArrayList<>();
        try {
            for (BoundField field : schema(owner, version).fields()) {
                if (field.def.type instanceof TaggedFields section) {
                    for (Map.Entry<Integer, Field> tagged : tagged(section).entrySet()) {
                        found.add(new Slot(owner, tagged.getValue(), tagged.getKey()));
                    }
                } else {
                    found.add(new Slot(owner, field.def, -1));
                }
            }
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
        return List.copyOf(found);
    }

    @SuppressWarnings("unchecked")
    private static Map<Integer, Field> tagged(TaggedFields section) throws ReflectiveOperationException {
        java.lang.reflect.Field fields = TaggedFields.class.getDeclaredField("fields"); // 3.9 has no getter
        fields.setAccessible(true);
        return (Map<Integer, Field>) fields.get(section);
    }

    /** The type of the elements of a collection: {@code List<E>}, or a class that extends {@code Collection<E>}. */
    static java.lang.reflect.Type element(java.lang.reflect.Type collection) {
        java.lang.reflect.Type type = collection;
        while (type instanceof Class<?> plain) {
            type = plain.getGenericSuperclass();
        }
        return ((ParameterizedType) type).getActualTypeArguments()[0];
    }

    /** The form that Kafka's converters would give, for the types that classes without converter have. */
    static ObjectNode json(Message message, short version) {
        ObjectNode node = JSON.createObjectNode();
        for (Slot slot : of(message.getClass(), version)) {
            Object value = slot.get(message);
            Object standard = slot.tag < 0 ? null : slot.get(Generated.create(message.getClass()));
            if (slot.tag < 0 || !Objects.deepEquals(value, standard)) {
                node.set(value instanceof MemoryRecords ? slot.name + "SizeInBytes" : slot.name, json(value, version));
            }
        }
        return node;
    }

    private static JsonNode json(Object value, short version) {
        if (value instanceof Message message) {
            return json(message, version);
        }
        if (value instanceof Collection<?> elements) {
            ArrayNode array = JSON.createArrayNode();
            elements.forEach(element -> array.add(json(element, version)));
            return array;
        }
        if (value instanceof MemoryRecords records) {
            return JSON.valueToTree(records.sizeInBytes());
        }
        if (value instanceof ByteBuffer buffer) {
            ByteBuffer whole = buffer.duplicate().rewind(); // before 2.8 a message that was written is used up
            byte[] bytes = new byte[whole.remaining()];
            whole.get(bytes);
            return JSON.valueToTree(bytes);
        }
        if (value instanceof UUID uuid) { // in place of Kafka's own class, which writes itself like this
            byte[] bytes = ByteBuffer.allocate(16).putLong(uuid.getMostSignificantBits())
                .putLong(uuid.getLeastSignificantBits()).array();
            return JSON.valueToTree(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
        }
        boolean plain = value == null || value instanceof Number || value instanceof Boolean || value instanceof byte[];
        return JSON.valueToTree(plain ? value : value.toString());
    }
}
