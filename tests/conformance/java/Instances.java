import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

/** Makes instances of generated classes that a version can carry. The same seed gives the same instance. */
final class Instances {
    enum Shape {
        /** As the constructor leaves it. */
        DEFAULT,
        /** Every field set to another value than its default, no array empty. */
        FULL,
        /** Null wherever the class can write it; what must be there has an element, so that it can hold nulls too. */
        NULL,
        /** Like FULL, with unknown tagged fields in every struct. */
        TAGS,
        /** Anything. */
        RANDOM
    }

    private static final Map<String, Boolean> NULLABLE = new ConcurrentHashMap<>();
    /** Beyond the tags that any release knows: a release would write none that a later one has given a meaning. */
    private static final int FIRST_TAG = 16;
    private static final int MAX_TAG = 0x7ffffffe;
    private static final int[] TAGS = {63, 126, 127, 128, 129, 10001, 16383, 16384, 1 << 28, MAX_TAG};
    private static final long[] NUMBERS = {0, 1, -1, 126, 127, 128, 255, 256, 32767, 32768, Long.MAX_VALUE, Long.MIN_VALUE};
    private static final double[] FLOATS = {0.0, -0.0, 1.5, Double.MIN_VALUE, Double.MAX_VALUE, Double.NaN,
        Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
    private static final String[] TEXTS = {"a", "topic-1", "\0", "\u00fc", "\ud83d\ude00", "\uffff", "\t\n\"\\\u2028"};

    private final Shape shape;
    private final short version;
    private final Random random;

    Instances(Shape shape, short version, long seed) {
        this.shape = shape;
        this.version = version;
        this.random = new Random(seed);
    }

    Message make(Class<?> type) {
        return shape == Shape.DEFAULT ? Generated.create(type) : struct(type, 0);
    }

    private Message struct(Class<?> type, int depth) {
        Message message = Generated.create(type);
        for (Slot slot : Slot.of(type, version)) {
            Object standard = slot.get(message);
            boolean stays = shape == Shape.RANDOM && chance(slot.tag < 0 ? 20 : 2);
            if (!stays || standard == null && !nullable(type, slot)) {
                slot.set(message, value(type, slot, standard, depth));
            }
        }
        if (Slot.flexible(type, version) && (shape == Shape.TAGS || shape == Shape.RANDOM && chance(6))) {
            message.unknownTaggedFields().addAll(unknown());
        }
        return message;
    }

    private Object value(Class<?> owner, Slot slot, Object standard, int depth) {
        boolean wanted = shape == Shape.NULL || shape == Shape.RANDOM && chance(4);
        if (wanted && nullable(owner, slot)) {
            return null;
        }
        Object value = value(slot.type, slot.javaType, depth);
        while (shape != Shape.RANDOM && scalar(slot.type) && Objects.deepEquals(value, standard)) {
            value = value(slot.type, slot.javaType, depth);
        }
        return value;
    }

    private static boolean scalar(Type type) {
        return !type.isArray() && !(type instanceof Schema);
    }

    private Object value(Type type, java.lang.reflect.Type javaType, int depth) {
        if (type.isArray()) {
            return array(type.arrayElementType().orElseThrow(), javaType, depth);
        }
        if (type instanceof Schema) {
            return struct((Class<?>) javaType, depth + 1);
        }
        String kind = ((Type.DocumentedType) type).typeName().replace("COMPACT_", "").replace("NULLABLE_", "");
        return switch (kind) {
            case "BOOLEAN" -> random.nextBoolean();
            case "INT8" -> (byte) number();
            case "INT16" -> (short) number();
            case "UINT16" -> (int) number() & 0xffff;
            case "INT32" -> (int) number();
            case "UINT32" -> number() & 0xffffffffL;
            case "INT64" -> number();
            case "FLOAT64" -> chance(2) ? FLOATS[random.nextInt(FLOATS.length)] : random.nextGaussian() * 1e6;
            case "UUID" -> chance(10) ? uuid(javaType, 0, 0) : uuid(javaType, random.nextLong(), random.nextLong());
            case "STRING" -> text();
            case "BYTES" -> javaType == ByteBuffer.class ? ByteBuffer.wrap(bytes()) : bytes();
            case "RECORDS" -> MemoryRecords.readableRecords(ByteBuffer.wrap(bytes()));
            default -> throw new IllegalStateException("type " + kind);
        };
    }

    /** Kafka has a class of its own since 2.8. */
    private static Object uuid(java.lang.reflect.Type javaType, long most, long least) {
        try {
            return ((Class<?>) javaType).getConstructor(long.class, long.class).newInstance(most, least);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    @SuppressWarnings("unchecked")
    private Object array(Type type, java.lang.reflect.Type javaType, int depth) {
        java.lang.reflect.Type elementType = Slot.element(javaType);
        Collection<Object> elements = new ArrayList<>();
        if (javaType instanceof Class<?> special) {
            try {
                elements = (Collection<Object>) special.getConstructor().newInstance();
            } catch (ReflectiveOperationException failure) {
                throw new IllegalStateException(failure);
            }
        }
        for (int left = count(scalar(type), depth); left > 0; left--) {
            elements.add(value(type, elementType, depth));
        }
        return elements;
    }

    private int count(boolean ofScalars, int depth) {
        if (shape != Shape.RANDOM) {
            return 1 + random.nextInt(depth > 1 ? 1 : 2);
        }
        if (ofScalars && chance(40)) {
            return 126 + random.nextInt(4);
        }
        return random.nextInt(depth > 2 ? 2 : 4);
    }

    private long number() {
        return chance(2) ? NUMBERS[random.nextInt(NUMBERS.length)] : random.nextLong();
    }

    private String text() {
        int kind = random.nextInt(200);
        if (kind < 8) {
            return "";
        }
        if (kind < 16) {
            return "z".repeat(122 + kind / 2); // 126 to 129: where a compact length takes a second byte
        }
        if (kind == 16 && shape == Shape.RANDOM) {
            return "\u20ac".repeat(10922) + "x"; // 32767 bytes, the longest
        }
        return TEXTS[random.nextInt(TEXTS.length)] + random.nextInt(1000);
    }

    private byte[] bytes() {
        byte[] bytes = new byte[chance(20) ? 126 + random.nextInt(4) : random.nextInt(16)];
        random.nextBytes(bytes);
        return bytes;
    }

    private List<RawTaggedField> unknown() {
        TreeMap<Integer, RawTaggedField> fields = new TreeMap<>();
        for (int left = 1 + random.nextInt(3); left > 0; left--) {
            int tag = chance(3) ? FIRST_TAG + random.nextInt(MAX_TAG - FIRST_TAG) : TAGS[random.nextInt(TAGS.length)];
            fields.put(tag, new RawTaggedField(tag, bytes()));
        }
        return List.copyOf(fields.values());
    }

    private boolean chance(int oneIn) {
        return random.nextInt(oneIn) == 0;
    }

    /** Whether the class can write null for a field. Schemas do not say it of structs and records, so it is tried. */
    private boolean nullable(Class<?> owner, Slot slot) {
        if (slot.javaType instanceof Class<?> plain && plain.isPrimitive()) {
            return false;
        }
        String key = owner.getName() + " " + version + " " + slot.name;
        Boolean known = NULLABLE.get(key);
        if (known == null) {
            known = canWriteNull(owner, slot);
            NULLABLE.put(key, known);
        }
        return known;
    }

    private boolean canWriteNull(Class<?> owner, Slot slot) {
        Message message = new Instances(Shape.FULL, version, 0).make(owner);
        slot.set(message, null);
        try {
            Generated.write(message, version);
            return true;
        } catch (NullPointerException notNullable) {
            return false;
        }
    }
}
