import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.Random;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.KRaftVersionRecordJsonConverter;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.LeaderChangeMessageJsonConverter;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotFooterRecordJsonConverter;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecordJsonConverter;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.message.VotersRecordJsonConverter;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.ControlRecordUtils;
import org.apache.kafka.common.record.DefaultRecordBatch;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/** Record batches, built and read by Kafka's own classes. */
final class Batches {
    private static final HexFormat HEX = HexFormat.of();
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
    private static final long NOW = 1_750_000_000_000L;

    private final byte magic;
    private final String kind;
    private final CompressionType codec;
    private final Random random;

    private Batches(byte magic, String codec, String kind, long seed) {
        this.magic = magic;
        this.kind = kind;
        this.codec = CompressionType.forName(codec);
        this.random = new Random(seed);
    }

    /**
     * A batch of a kind: plain, append, idempotent, transactional, horizon, sparse, empty, or one with the control
     * record control, leader, header, footer, version or voters.
     */
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
            case "leader" -> control(
                builder, ControlRecordType.LEADER_CHANGE, LeaderChangeMessage.class, random.nextInt(2));
            case "header" -> control(builder, ControlRecordType.SNAPSHOT_HEADER, SnapshotHeaderRecord.class, 0);
            case "footer" -> control(builder, ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord.class, 0);
            case "version" -> control(builder, ControlRecordType.KRAFT_VERSION, KRaftVersionRecord.class, 0);
            case "voters" -> control(builder, ControlRecordType.KRAFT_VOTERS, VotersRecord.class, 0);
            default -> append(builder, random.nextInt(20) == 0 ? 300 : 1 + random.nextInt(12));
        }
        MemoryRecords built = builder.build();
        byte[] bytes = new byte[built.sizeInBytes()];
        built.buffer().duplicate().get(bytes);
        return bytes;
    }

    private MemoryRecordsBuilder builder() {
        boolean transactional = kind.equals("transactional") || kind.equals("control");
        boolean control = "control leader header footer version voters".contains(kind);
        boolean producer = transactional || kind.equals("idempotent");
        boolean append = kind.equals("append");
        return new MemoryRecordsBuilder(
            new ByteBufferOutputStream(1024), magic, Compression.of(codec).build(), timestampType(),
            Math.abs(random.nextInt()), append ? NOW + 5 : RecordBatch.NO_TIMESTAMP,
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

    private void control(MemoryRecordsBuilder builder, ControlRecordType type, Class<?> value, int version) {
        Message message = new Instances(Instances.Shape.FULL, (short) version, random.nextLong()).make(value);
        for (Slot slot : Slot.of(value, (short) version)) {
            if (slot.name.equals("version")) {
                slot.set(message, (short) version);
            }
        }
        builder.appendControlRecord(NOW, type, ByteBuffer.wrap(Generated.write(message, (short) version)));
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
        node.set("deleteHorizon", batch.deleteHorizonMs().isPresent()
            ? JSON.numberNode(batch.deleteHorizonMs().getAsLong()) : JSON.nullNode());
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
            node.put("type", type.type()).set("value", value(type, record));
        } catch (RuntimeException unreadable) {
            node.set("value", JSON.nullNode());
        }
        return node;
    }

    private static JsonNode value(ControlRecordType type, Record record) {
        return switch (type) {
            case ABORT, COMMIT -> JSON.objectNode().put("coordinatorEpoch",
                EndTransactionMarker.deserialize(record).coordinatorEpoch());
            case LEADER_CHANGE -> {
                short version = record.value().getShort(0); // ControlRecordUtils reads all of them as version 0
                yield LeaderChangeMessageJsonConverter.write(
                    new LeaderChangeMessage(new ByteBufferAccessor(record.value()), version), version);
            }
            case SNAPSHOT_HEADER -> SnapshotHeaderRecordJsonConverter.write(
                ControlRecordUtils.deserializeSnapshotHeaderRecord(record), (short) 0);
            case SNAPSHOT_FOOTER -> SnapshotFooterRecordJsonConverter.write(
                ControlRecordUtils.deserializeSnapshotFooterRecord(record), (short) 0);
            case KRAFT_VERSION -> KRaftVersionRecordJsonConverter.write(
                ControlRecordUtils.deserializeKRaftVersionRecord(record), (short) 0);
            case KRAFT_VOTERS -> VotersRecordJsonConverter.write(
                ControlRecordUtils.deserializeVotersRecord(record), (short) 0);
            case UNKNOWN -> JSON.nullNode();
        };
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
