import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.OptionalLong;

import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/** What differs between releases in the classes used here. In which package a release has them, the build finds out. */
final class Release {
    private static final Method HORIZON = method(RecordBatch.class, "deleteHorizonMs");
    private static final Constructor<?> BUILDER = Arrays.stream(MemoryRecordsBuilder.class.getConstructors())
        .filter(candidate -> candidate.getParameterTypes()[0] == ByteBufferOutputStream.class)
        .max(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();

    private Release() { }

    /** Whether batches have a delete horizon: since 3.1. */
    static boolean knowsHorizon() {
        return HORIZON != null;
    }

    static OptionalLong horizon(RecordBatch batch) {
        try {
            return HORIZON == null ? OptionalLong.empty() : (OptionalLong) HORIZON.invoke(batch);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** A builder from the arguments of its longest constructor, of which the last is the delete horizon. */
    static MemoryRecordsBuilder builder(Object... arguments) {
        Object[] taken = Arrays.copyOf(arguments, BUILDER.getParameterCount());
        try {
            taken[2] = compression(BUILDER.getParameterTypes()[2], (CompressionType) taken[2]);
            return (MemoryRecordsBuilder) BUILDER.newInstance(taken);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Append a control record. Before 2.7 there were only the markers of transactions, which have their own method. */
    static void append(MemoryRecordsBuilder builder, long offset, SimpleRecord control) {
        try {
            MemoryRecordsBuilder.class.getMethod("appendControlRecordWithOffset", long.class, SimpleRecord.class)
                .invoke(builder, offset, control);
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Since 3.8 a builder takes a codec with its level, before that its type alone. */
    private static Object compression(Class<?> wanted, CompressionType codec) throws ReflectiveOperationException {
        if (wanted == CompressionType.class) {
            return codec;
        }
        Method of = wanted.getMethod("of", CompressionType.class);
        return of.getReturnType().getMethod("build").invoke(of.invoke(null, codec));
    }

    /** How the class writes Kafka's JSON form, with sizes in place of records: since 2.8, and not in all modules. */
    static Method converter(Class<?> type) {
        try {
            return method(Class.forName(type.getName() + "JsonConverter"), "write", type, short.class, boolean.class);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    private static Method method(Class<?> owner, String name, Class<?>... parameters) {
        try {
            return owner.getMethod(name, parameters);
        } catch (NoSuchMethodException absent) {
            return null;
        }
    }
}
