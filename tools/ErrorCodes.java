import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints the code, the name and whether a retry is worth it of every error of a release, one a line. */
public final class ErrorCodes {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            System.out.println(error.code() + " " + error.name() + " " + retriable);
        }
    }
}
