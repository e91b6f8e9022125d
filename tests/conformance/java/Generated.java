import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.jar.JarFile;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/** The message classes that Kafka's generator made, found in all of Kafka's jars on the class path. */
final class Generated {
    private static final Map<String, Class<? extends Message>> CLASSES = find();
    private static final Map<Class<?>, Constructor<?>> READERS = new ConcurrentHashMap<>();
    private static final Map<Class<?>, Optional<Method>> CONVERTERS = new ConcurrentHashMap<>();

    private Generated() { }

    static Set<String> names() {
        return CLASSES.keySet();
    }

    static Class<? extends Message> named(String name) {
        Class<? extends Message> found = CLASSES.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no class " + name);
        }
        return found;
    }

    static Message create(Class<?> type) {
        try {
            return (Message) type.getConstructor().newInstance();
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static Message read(String name, Readable bytes, short version) throws ReflectiveOperationException {
        Class<?> type = named(name);
        Constructor<?> reader = READERS.get(type);
        if (reader == null) {
            reader = type.getConstructor(Readable.class, short.class);
            READERS.put(type, reader);
        }
        return (Message) reader.newInstance(bytes, version);
    }

    static byte[] write(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(out), cache, version);
        if (out.hasRemaining()) {
            throw new IllegalStateException(out.remaining() + " bytes fewer than its size");
        }
        return out.array();
    }

    /** Kafka's JSON form; its records are but a size. Classes that come without converter get a form of ours. */
    static String json(Message message, short version) throws ReflectiveOperationException {
        Class<?> type = message.getClass();
        Optional<Method> converter = CONVERTERS.computeIfAbsent(type, key -> Optional.ofNullable(Release.converter(key)));
        return converter.isPresent()
            ? converter.get().invoke(null, message, version, false).toString() : Slot.json(message, version).toString();
    }

    private static Map<String, Class<? extends Message>> find() {
        Map<String, Class<? extends Message>> found = new TreeMap<>();
        for (String path : System.getProperty("java.class.path").split(java.io.File.pathSeparator)) {
            String file = java.nio.file.Path.of(path).getFileName().toString();
            if (file.startsWith("kafka") && file.endsWith(".jar")) {
                findIn(path, found);
            }
        }
        return Collections.unmodifiableMap(found);
    }

    private static void findIn(String path, Map<String, Class<? extends Message>> found) {
        try (JarFile jar = new JarFile(path)) {
            jar.stream().map(entry -> entry.getName()).filter(Generated::isGenerated).forEach(name -> {
                Class<?> type = load(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                if (type == null || !Message.class.isAssignableFrom(type) || Modifier.isAbstract(type.getModifiers())) {
                    return;
                }
                if (found.put(type.getSimpleName(), type.asSubclass(Message.class)) != null) {
                    throw new IllegalStateException("two classes are named " + type.getSimpleName());
                }
            });
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static boolean isGenerated(String name) {
        return name.endsWith(".class") && name.indexOf('$') < 0
            && (name.contains("/message/") || name.contains("/generated/") || name.contains("/metadata/"));
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, Generated.class.getClassLoader());
        } catch (ReflectiveOperationException | LinkageError absent) {
            return null;
        }
    }
}
