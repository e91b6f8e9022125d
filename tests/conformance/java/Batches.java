import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/** Record batches, built and read by Kafka's own classes. */
final class Batches {
    private static final HexFormat HEX = HexFormat.of();
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final long NOW = 1_750_000_000_000L;
    /** Kinds of batches with a control record that has a message as its value. */
    private static final Map<String, Control> CONTROL = Map.of(
        "leader", new Control(2, "LEADER_CHANGE", "LeaderChangeMessage"),
        "header", new Control(3, "SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
        "footer", new Control(4, "SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
        "version", new Control(5, "KRAFT_VERSION", "KRaftVersionRecord"),
        "voters", new Control(6, "KRAFT_VOTERS", "VotersRecord"));

    private final byte magic;
    private final String kind;
    private final CompressionType codec;
    private final Random random;
    private long base;

    private Batches(byte magic, String codec, String kind, long seed) {
        this.magic = magic;
        this.kind = kind;
        this.codec = CompressionType.forName(codec);
        this.random = new Random(seed);
    }

    /** The number of a control record's type, which its enum shows since 3.5 only, with the name of its constant. */
    private record Control(int type, String name, String message) {
        /** Whether the release has it, and its value says its version, as since 3.0. */
        boolean known() {
            return Arrays.stream(ControlRecordType.values()).anyMatch(type -> type.name().equals(name))
                && Slot.of(Generated.named(message), (short) 0).get(0).name.equals("version");
        }
    }

    /** The kinds of batches that the release knows. */
    static List<String> kinds() {
        List<String> kinds = new ArrayList<>(
            List.of("plain", "append", "idempotent", "transactional", "sparse", "empty", "control"));
        if (Release.knowsHorizon()) {
            kinds.add("horizon");
        }
        CONTROL.forEach((kind, control) -> {
            if (control.known()) {
                kinds.add(kind);
            }
        });
        return kinds;
    }

    /** A batch of one of these kinds. */
    static byte[] build(byte magic, String codec, String kind, long seed) {
        return new Batches(magic, codec, kind, seed).build();
    }

    private byte[] build() {
        if (kind.equals("empty")) {
            return empty();
        }
        MemoryRecordsBuilder builder = builder();
        switch (kind) {
            case "control" -> builder.appendEndTxnMarker(NOW, new EndTransactionMarker(
                random.nextBoolean() ? ControlRecordType.COMMIT : ControlRecordType.ABORT, random.nextInt(1000)));
            case "leader", "header", "footer", "version", "voters" -> append(builder, CONTROL.get(kind));
            default -> append(builder, random.nextInt(20) == 0 ? 300 : 1 + random.nextInt(12));
        }
        MemoryRecords built = builder.build();
        byte[] bytes = new byte[built.sizeInBytes()];
        built.buffer().duplicate().get(bytes);
        return bytes;
    }

    private MemoryRecordsBuilder builder() {
        boolean transactional = kind.equals("transactional") || kind.equals("control");
        boolean control = kind.equals("control") || CONTROL.containsKey(kind);
        boolean producer = transactional || kind.equals("idempotent");
        boolean append = kind.equals("append");
        base = Math.abs(random.nextInt());
        return Release.builder(
            new ByteBufferOutputStream(1024), magic, codec, timestampType(),
            base, append ? NOW + 5 : RecordBatch.NO_TIMESTAMP,
            producer ? Math.abs(random.nextInt()) : RecordBatch.NO_PRODUCER_ID,
            producer ? (short) random.nextInt(100) : RecordBatch.NO_PRODUCER_EPOCH,
            producer && !control ? random.nextInt(3) == 0 ? Integer.MAX_VALUE - 2 : random.nextInt(1000)
                : RecordBatch.NO_SEQUENCE,
            transactional, control, magic < 2 ? RecordBatch.NO_PARTITION_LEADER_EPOCH : random.nextInt(100),
            Integer.MAX_VALUE, kind.equals("horizon") ? NOW - random.nextInt(100_000) : RecordBatch.NO_TIMESTAMP);
    }

    private TimestampType timestampType() {
        if (magic == 0) {
            return TimestampType.NO_TIMESTAMP_TYPE;
        }
        return kind.equals("append") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
    }

    private void append(MemoryRecordsBuilder builder, int count) {
        long offset = 0;
        for (int number = 0; number < count; number++) {
            long timestamp = magic == 0 ? RecordBatch.NO_TIMESTAMP : NOW + random.nextInt(2000) - 1000;
            Header[] headers = magic < 2 ? new Header[0] : headers();
            if (kind.equals("sparse")) {
                offset = number == 0 ? Integer.MAX_VALUE : offset + 1 + random.nextInt(3);
                builder.appendWithOffset(offset, timestamp, bytes(), bytes(), headers);
            } else {
                builder.append(timestamp, bytes(), bytes(), headers);
            }
        }
        if (kind.equals("sparse") && magic == 2) {
            builder.overrideLastOffset(offset + random.nextInt(3)); // the last records were compacted away
        }
    }

    private Header[] headers() {
        Header[] headers = new Header[random.nextInt(3) == 0 ? 1 + random.nextInt(3) : 0];
        for (int number = 0; number < headers.length; number++) {
            headers[number] = new RecordHeader(random.nextInt(4) == 0 ? "" : "h\u00e4" + number, bytes());
        }
        return headers;
    }

    private byte[] bytes() {
        int choice = random.nextInt(6);
        if (choice == 0) {
            return null;
        }
        byte[] bytes = new byte[choice == 1 ? 60 + random.nextInt(10) : random.nextInt(30) * choice / 2];
        if (random.nextBoolean()) {
            random.nextBytes(bytes);
        }
        return bytes;
    }

    private void append(MemoryRecordsBuilder builder, Control control) {
        Class<?> value = Generated.named(control.message);
        int versions = Generated.create(value).highestSupportedVersion() + 1;
        short version = (short) (versions == 1 ? 0 : random.nextInt(versions));
        Message message = new Instances(Instances.Shape.FULL, version, random.nextLong()).make(value);
        Slot.of(value, version).get(0).set(message, version);
        ByteBuffer key = ByteBuffer.allocate(4).putShort((short) 0).putShort((short) control.type).flip();
        Release.append(builder, base, new SimpleRecord(NOW, key, ByteBuffer.wrap(Generated.write(message, version))));
    }

    /** What compaction leaves of a batch, to keep the producer's last sequence. */
    private byte[] empty() {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        long offset = Math.abs(random.nextInt());
        DefaultRecordBatch.writeEmptyHeader(buffer, magic, random.nextInt(1000), (short) 3, random.nextInt(1000), offset,
            offset + random.nextInt(100), 7, TimestampType.CREATE_TIME, NOW, random.nextBoolean(), random.nextBoolean());
        return buffer.array();
    }

    /** All batches in {@code bytes} with their records, as JSON; bytes that are no batches are an error. */
    static String describe(byte[] bytes) {
        ArrayNode batches = JSON.arrayNode();
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes)).batches()) {
            batch.ensureValid();
            batches.add(describe(batch));
        }
        return batches.toString();
    }

    private static ObjectNode describe(RecordBatch batch) {
        ObjectNode node = JSON.objectNode();
        node.put("size", batch.sizeInBytes()).put("magic", batch.magic()).put("codec", batch.compressionType().name);
        node.put("baseOffset", batch.magic() < 2 ? first(batch).offset() : batch.baseOffset());
        node.put("lastOffset", batch.lastOffset()).put("leaderEpoch", batch.partitionLeaderEpoch());
        node.put("crc", batch.checksum()).put("maxTimestamp", batch.maxTimestamp());
        node.put("timestampType", switch (batch.timestampType()) {
            case NO_TIMESTAMP_TYPE -> "none";
            case CREATE_TIME -> "create";
            case LOG_APPEND_TIME -> "append";
        });
        node.put("producerId", batch.producerId()).put("producerEpoch", batch.producerEpoch());
        node.put("baseSequence", batch.baseSequence());
        node.put("transactional", batch.isTransactional()).put("control", batch.isControlBatch());
        OptionalLong horizon = Release.horizon(batch);
        node.set("deleteHorizon", horizon.isPresent() ? JSON.numberNode(horizon.getAsLong()) : JSON.nullNode());
        ArrayNode records = node.putArray("records");
        for (Record record : batch) {
            record.ensureValid();
            records.add(describe(record, batch));
        }
        return node;
    }

    private static Record first(RecordBatch batch) {
        return batch.iterator().next();
    }

    private static ObjectNode describe(Record record, RecordBatch batch) {
        ObjectNode node = JSON.objectNode();
        node.put("offset", record.offset()).put("timestamp", record.timestamp()).put("sequence", record.sequence());
        node.set("key", hex(record.hasKey() ? record.key() : null));
        node.set("value", hex(record.hasValue() ? record.value() : null));
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            byte[] value = header.value();
            headers.addArray().add(header.key()).add(hex(value == null ? null : ByteBuffer.wrap(value)));
        }
        if (batch.isControlBatch()) {
            node.set("control", control(record));
        }
        return node;
    }

    /** A control record's type and value; null where Kafka cannot read it. */
    private static ObjectNode control(Record record) {
        ObjectNode node = JSON.objectNode();
        try {
            ControlRecordType type = ControlRecordType.parse(record.key());
            node.put("type", record.key().getShort(2)).set("value", value(type, record));
        } catch (RuntimeException | ReflectiveOperationException | IOException unreadable) {
            node.set("value", JSON.nullNode());
        }
        return node;
    }

    private static JsonNode value(ControlRecordType type, Record record) throws ReflectiveOperationException, IOException {
        if (type == ControlRecordType.ABORT || type == ControlRecordType.COMMIT) {
            return JSON.objectNode().put("coordinatorEpoch", EndTransactionMarker.deserialize(record).coordinatorEpoch());
        }
        for (Control control : CONTROL.values()) {
            if (control.name.equals(type.name())) {
                short version = record.value().getShort(0); // ControlRecordUtils reads all of them as version 0
                Message message = Generated.read(control.message, new ByteBufferAccessor(record.value()), version);
                return new ObjectMapper().readTree(Generated.json(message, version));
            }
        }
        return JSON.nullNode();
    }

    private static JsonNode hex(ByteBuffer bytes) {
        if (bytes == null) {
            return JSON.nullNode();
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return JSON.textNode(HEX.formatHex(copy));
    }
}
