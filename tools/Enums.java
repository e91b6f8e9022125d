import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Prints the named numbers of classes of a release, one a line: what it was asked for, the name and the number.
 *
 * Takes groups of three: a name to print, a class, and a pattern. An enum prints all its constants with the number that
 * it keeps of each (the pattern is not used); any other class its constants whose names match, by their first group. A
 * class that the release lacks prints nothing, nor does an enum that keeps no numbers: ConsumerGroupMember$MemberState
 * was not on the wire before 3.8.
 */
public final class Enums {
    private static final String[] NUMBERS = {"id", "code", "value", "type", "messageType", "key"};

    public static void main(String[] arguments) throws ReflectiveOperationException {
        for (int i = 0; i < arguments.length; i += 3) {
            Class<?> type;
            try {
                type = Class.forName(arguments[i + 1]);
            } catch (ClassNotFoundException | LinkageError absent) {
                continue;
            }
            if (type.isEnum()) {
                for (Object constant : type.getEnumConstants()) {
                    Number number = number(constant);
                    if (number != null) {
                        print(arguments[i], ((Enum<?>) constant).name(), number);
                    }
                }
            } else {
                Pattern pattern = Pattern.compile(arguments[i + 2]);
                for (Field field : type.getDeclaredFields()) {
                    Matcher name = pattern.matcher(field.getName());
                    if (Modifier.isStatic(field.getModifiers()) && name.matches()) {
                        field.setAccessible(true);
                        print(arguments[i], name.group(1), (Number) field.get(null));
                    }
                }
            }
        }
    }

    private static Number number(Object constant) throws ReflectiveOperationException {
        Class<?> type = ((Enum<?>) constant).getDeclaringClass();
        for (String name : NUMBERS) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name) && !Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    if (field.get(constant) instanceof Number) {
                        return (Number) field.get(constant);
                    }
                }
            }
        }
        return null;
    }

    private static void print(String enumName, String name, Number number) {
        System.out.println(enumName + " " + name + " " + number);
    }
}
