import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Prints the named numbers that classes of a release keep, one a line: class, field, type, name, number.
 *
 * Takes the jars of the release, which must be on the classpath too. An enum prints its constants, each with the number
 * that it keeps in a field; any other class prints its constants that are bytes, if it has several, and a class of
 * requests and responses all that are integers. "static" stands for the field then. An enum without numbers prints
 * nothing (ConsumerGroupMember$MemberState was not on the wire before 3.8), nor does what cannot be loaded without the
 * modules that the release depends on.
 */
public final class Enums {
    private static final List<String> NUMBERS = List.of("id", "code", "value", "type", "messageType", "key");
    private static final Set<Class<?>> INTEGERS = Set.of(byte.class, short.class, int.class, long.class);
    private static final String PACKAGE = "org.apache.kafka.";
    private static final String REQUESTS = PACKAGE + "common.requests.";

    public static void main(String[] jars) throws IOException, ReflectiveOperationException {
        for (String jar : jars) {
            try (ZipFile file = new ZipFile(new File(jar))) {
                for (ZipEntry entry : Collections.list(file.entries())) {
                    String name = entry.getName().replace('/', '.');
                    if (name.startsWith(PACKAGE) && name.endsWith(".class") && !name.startsWith(PACKAGE + "shaded.")) {
                        print(name.substring(0, name.length() - ".class".length()));
                    }
                }
            }
        }
    }

    private static void print(String name) throws ReflectiveOperationException {
        try {
            Class<?> type = Class.forName(name, false, Enums.class.getClassLoader());
            if (type.isEnum()) {
                printEnum(type);
            } else {
                printConstants(type);
            }
        } catch (LinkageError absent) {
            return;
        }
    }

    private static void printEnum(Class<?> type) throws ReflectiveOperationException {
        Field number = number(type);
        for (Object constant : number == null ? new Object[0] : type.getEnumConstants()) {
            print(type, number.getName(), number.getType(), ((Enum<?>) constant).name(), (Number) number.get(constant));
        }
    }

    /** The field with the number of a constant: by its name, or the only integer that there is. */
    private static Field number(Class<?> type) {
        List<Field> integers = new ArrayList<>();
        for (Field field : type.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && INTEGERS.contains(field.getType())) {
                field.setAccessible(true);
                integers.add(field);
            }
        }
        for (String name : NUMBERS) {
            for (Field field : integers) {
                if (field.getName().equals(name)) {
                    return field;
                }
            }
        }
        return integers.size() == 1 ? integers.get(0) : null;
    }

    private static void printConstants(Class<?> type) throws ReflectiveOperationException {
        boolean all = type.getName().startsWith(REQUESTS);
        List<Field> constants = new ArrayList<>();
        for (Field field : type.getDeclaredFields()) {
            boolean constant = Modifier.isStatic(field.getModifiers()) && Modifier.isFinal(field.getModifiers());
            if (constant && (all ? INTEGERS.contains(field.getType()) : field.getType() == byte.class)) {
                constants.add(field);
            }
        }
        for (Field field : constants.size() > 1 ? constants : List.<Field>of()) {
            field.setAccessible(true);
            print(type, "static", field.getType(), field.getName(), (Number) field.get(null));
        }
    }

    private static void print(Class<?> type, String field, Class<?> kind, String name, Number number) {
        String shortName = type.getName().substring(PACKAGE.length());
        System.out.println(shortName + " " + field + " " + kind + " " + name + " " + number);
    }
}
