import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Set;
import java.util.StringJoiner;

import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.Schema;

/**
 * Answers, line by line, what Kafka's own classes make of bytes. Words of a request are separated by blanks, those of
 * an answer by tabs; bytes are hexadecimal. The first word of an answer is ok, or error followed by what was thrown.
 *
 * <pre>
 * list                              → ok (NAME LOWEST HIGHEST)*
 * headers                           → ok (KEY VERSION REQUEST-HEADER RESPONSE-HEADER)*
 * errors                            → ok (CODE NAME RETRIABLE)*
 * numbers CLASS                     → ok (NUMBER NAME)*    of an enum, from its methods or fields id and type
 * make NAME VERSION SHAPE SEED      → ok BYTES JSON        an instance made here and written
 * read NAME VERSION BYTES [WRITE]   → ok BYTES JSON REST   read, then written (in version WRITE); REST bytes left over
 * kinds                             → ok KIND*             of record batches that the release knows
 * build MAGIC CODEC KIND SEED       → ok BYTES JSON        record batches made here
 * records BYTES                     → ok JSON              record batches read
 * </pre>
 */
public final class Conformance {
    private static final HexFormat HEX = HexFormat.of();
    private static final Set<String> NUMBERS = Set.of("id", "type");

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line.split(" ", -1)));
            out.print('\n');
            out.flush();
        }
    }

    private static String answer(String[] words) {
        try {
            return switch (words[0]) {
                case "list" -> list();
                case "headers" -> headers();
                case "errors" -> errors();
                case "numbers" -> numbers(Class.forName(words[1]));
                case "make" -> make(words[1], Short.parseShort(words[2]), words[3], Long.parseLong(words[4]));
                case "read" -> read(words);
                case "kinds" -> ok(Batches.kinds().toArray(String[]::new));
                case "build" -> build(words);
                case "records" -> ok(Batches.describe(HEX.parseHex(words[1])));
                default -> throw new IllegalArgumentException(words[0]);
            };
        } catch (Failure failure) {
            return error(failure.stage, failure.getCause());
        } catch (Throwable thrown) {
            return error("other", thrown);
        }
    }

    private static String list() {
        StringJoiner out = new StringJoiner("\t");
        out.add("ok");
        for (String name : Generated.names()) {
            Message message = Generated.create(Generated.named(name));
            out.add(name + " " + message.lowestSupportedVersion() + " " + message.highestSupportedVersion());
        }
        return out.toString();
    }

    private static String headers() {
        StringJoiner out = new StringJoiner("\t");
        out.add("ok");
        for (ApiMessageType api : ApiMessageType.values()) {
            Schema[] versions = api.requestSchemas();
            for (short version = 0; version < versions.length; version++) {
                if (versions[version] == null) {
                    continue; // a version that the release dropped
                }
                out.add(api.apiKey() + " " + version + " " + api.requestHeaderVersion(version) + " "
                    + api.responseHeaderVersion(version));
            }
        }
        return out.toString();
    }

    private static String errors() {
        StringJoiner out = new StringJoiner("\t");
        out.add("ok");
        for (Errors error : Errors.values()) {
            out.add(error.code() + " " + error.name() + " " + (error.exception() instanceof RetriableException));
        }
        return out.toString();
    }

    private static String numbers(Class<?> type) throws ReflectiveOperationException {
        StringJoiner out = new StringJoiner("\t");
        out.add("ok");
        for (Object constant : type.getEnumConstants()) {
            out.add(number(constant) + " " + ((Enum<?>) constant).name());
        }
        return out.toString();
    }

    private static Object number(Object constant) throws ReflectiveOperationException {
        Class<?> type = ((Enum<?>) constant).getDeclaringClass();
        for (Method method : type.getMethods()) {
            if (method.getParameterCount() == 0 && NUMBERS.contains(method.getName())) {
                return method.invoke(constant);
            }
        }
        for (Field field : type.getDeclaredFields()) {
            if (NUMBERS.contains(field.getName())) {
                field.setAccessible(true);
                return field.get(constant);
            }
        }
        throw new NoSuchFieldException(type + " has none of " + NUMBERS);
    }

    private static String make(String name, short version, String shape, long seed) {
        Message message = Failure.in("make", () ->
            new Instances(Instances.Shape.valueOf(shape.toUpperCase()), version, seed).make(Generated.named(name)));
        byte[] bytes = Failure.in("write", () -> Generated.write(message, version));
        return ok(HEX.formatHex(bytes), Failure.in("json", () -> Generated.json(message, version)));
    }

    private static String read(String[] words) {
        short version = Short.parseShort(words[2]);
        ByteBuffer bytes = ByteBuffer.wrap(HEX.parseHex(words[3]));
        Message message = Failure.in("read", () -> Generated.read(words[1], new ByteBufferAccessor(bytes), version));
        int rest = bytes.remaining();
        short target = words.length > 4 ? Short.parseShort(words[4]) : version;
        byte[] written = Failure.in("write", () -> Generated.write(message, target));
        String json = Failure.in("json", () -> Generated.json(message, target));
        return ok(HEX.formatHex(written), json, Integer.toString(rest));
    }

    private static String build(String[] words) {
        byte[] bytes = Batches.build(Byte.parseByte(words[1]), words[2], words[3], Long.parseLong(words[4]));
        return ok(HEX.formatHex(bytes), Batches.describe(bytes));
    }

    private static String ok(String... words) {
        return "ok\t" + String.join("\t", words);
    }

    private static String error(String stage, Throwable thrown) {
        return "error\t" + stage + "\t" + thrown.toString().replaceAll("\\s+", " ");
    }

    /** What was thrown, and by which step. */
    private static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final String stage;

        private Failure(String stage, Throwable cause) {
            super(cause);
            this.stage = stage;
        }

        private interface Step<T> {
            T run() throws Throwable;
        }

        static <T> T in(String stage, Step<T> step) {
            try {
                return step.run();
            } catch (Throwable thrown) {
                Throwable cause = thrown;
                while (cause instanceof InvocationTargetException || cause instanceof IllegalStateException
                    && cause.getCause() != null) {
                    cause = cause.getCause();
                }
                throw new Failure(stage, cause);
            }
        }
    }
}
