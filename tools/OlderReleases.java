import java.lang.reflect.Field;
import org.apache.kafka.common.protocol.ApiKeys;

/** Prints the key, the name and the versions, requests' and responses', of every API that a release's clients have. */
public final class OlderReleases {
    public static void main(String[] arguments) throws ReflectiveOperationException {
        for (ApiKeys api : ApiKeys.values()) {
            System.out.println(api.id + " " + api.name() + " " + versions(api, "request") + " " + versions(api, "response"));
        }
    }

    /** The versions with a schema: of a table by key in the class Protocol, or since 1.0 of each API itself. */
    private static String versions(ApiKeys api, String side) throws ReflectiveOperationException {
        Object[] schemas;
        try {
            Class<?> protocol = Class.forName("org.apache.kafka.common.protocol.Protocol");
            Field table = protocol.getDeclaredField(side.toUpperCase() + "S");
            table.setAccessible(true);
            schemas = ((Object[][]) table.get(null))[api.id];
        } catch (NoSuchFieldException none) {
            schemas = (Object[]) ApiKeys.class.getField(side + "Schemas").get(api);
        }
        StringBuilder found = new StringBuilder();
        for (int version = 0; version < schemas.length; version++) {
            if (schemas[version] != null) {
                found.append(found.length() == 0 ? "" : ",").append(version);
            }
        }
        return found.toString();
    }
}
