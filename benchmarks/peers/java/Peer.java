import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.Record;

/** kafka-clients as a peer: reads commands from standard input, see benchmarks/peers/foreign.py. */
public final class Peer {
    interface Case {
        Object decode();

        ByteBuffer encode();

        long[] facts();
    }

    record Body(byte[] data, short version, BiFunction<Readable, Short, Message> read, Message value, ToLongs sums)
            implements Case {
        public Object decode() {
            return read.apply(new ByteBufferAccessor(ByteBuffer.wrap(data)), version);
        }

        public ByteBuffer encode() {
            return MessageUtil.toByteBufferAccessor(value, version).buffer();
        }

        public long[] facts() {
            return sums.of(value);
        }
    }

    interface ToLongs {
        long[] of(Message value);
    }

    /** One object for each record; keys and values are views, as Java's consumer gives them to deserializers. */
    record Records(byte[] data, List<List<Record>> batches) implements Case {
        static List<List<Record>> read(byte[] data) {
            List<List<Record>> found = new ArrayList<>();
            for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
                batch.ensureValid();
                List<Record> rows = new ArrayList<>();
                for (Record row : batch) rows.add(row);
                found.add(rows);
            }
            return found;
        }

        public Object decode() {
            return read(data);
        }

        public ByteBuffer encode() {
            ByteBuffer all = ByteBuffer.allocate(data.length + 1024);
            for (List<Record> rows : batches) {
                ByteBuffer room = ByteBuffer.allocate(64 * 1024);
                MemoryRecordsBuilder out = MemoryRecords.builder(
                        room, Compression.NONE, TimestampType.CREATE_TIME, rows.get(0).offset());
                for (Record row : rows) out.append(row.timestamp(), row.key(), row.value());
                all.put(out.build().buffer());
            }
            return all.flip();
        }

        public long[] facts() {
            List<Record> all = batches.stream().flatMap(List::stream).toList();
            return new long[] {
                all.size(), sum(all, Record::offset), sum(all, Record::timestamp),
                sum(all, row -> total(row.key())), sum(all, row -> total(row.value())),
            };
        }
    }

    static Case load(String name, byte[] data) {
        switch (name) {
            case "records_one", "records_130":
                return new Records(data, Records.read(data));
            case "leader_change":
                return body(data, 0, LeaderChangeMessage::new, value -> {
                    LeaderChangeMessage m = (LeaderChangeMessage) value;
                    return new long[] {
                        m.leaderId(), sum(m.voters(), v -> v.voterId()), sum(m.grantingVoters(), v -> v.voterId())};
                });
            case "api_versions":
                return body(data, 3, ApiVersionsResponseData::new, value -> {
                    ApiVersionsResponseData m = (ApiVersionsResponseData) value;
                    return new long[] {
                        m.apiKeys().size(), sum(m.apiKeys(), k -> k.apiKey()), sum(m.apiKeys(), k -> k.maxVersion()),
                        m.supportedFeatures().size(), m.finalizedFeaturesEpoch(),
                        sum(m.finalizedFeatures(), f -> f.maxVersionLevel()),
                    };
                });
            case "metadata_small", "metadata_big":
                return body(data, 12, MetadataResponseData::new, value -> {
                    MetadataResponseData m = (MetadataResponseData) value;
                    var all = m.topics().stream().flatMap(t -> t.partitions().stream()).toList();
                    return new long[] {
                        sum(m.brokers(), b -> b.port()), m.topics().size(), sum(m.topics(), t -> t.name().length()),
                        sum(m.topics(), t -> digits(t.topicId())), all.size(), sum(all, p -> p.leaderId()),
                        sum(all, p -> p.leaderEpoch()), sum(all, p -> sum(p.replicaNodes(), n -> n)),
                        sum(all, p -> sum(p.isrNodes(), n -> n)),
                    };
                });
            case "produce":
                return body(data, 9, ProduceRequestData::new, value -> {
                    ProduceRequestData m = (ProduceRequestData) value;
                    var all = m.topicData().stream().flatMap(t -> t.partitionData().stream()).toList();
                    return new long[] {
                        m.acks(), m.timeoutMs(), sum(all, p -> p.index()),
                        sum(all, p -> total(((MemoryRecords) p.records()).buffer())),
                    };
                });
            case "fetch":
                return body(data, 13, FetchResponseData::new, value -> {
                    FetchResponseData m = (FetchResponseData) value;
                    var all = m.responses().stream().flatMap(t -> t.partitions().stream()).toList();
                    return new long[] {
                        m.sessionId(), sum(m.responses(), t -> digits(t.topicId())), sum(all, p -> p.partitionIndex()),
                        sum(all, p -> p.highWatermark()), sum(all, p -> total(((MemoryRecords) p.records()).buffer())),
                    };
                });
            case "join_group":
                return body(data, 9, JoinGroupResponseData::new, value -> {
                    JoinGroupResponseData m = (JoinGroupResponseData) value;
                    return new long[] {
                        m.generationId(), m.members().size(), sum(m.members(), n -> n.memberId().length()),
                        sum(m.members(), n -> total(ByteBuffer.wrap(n.metadata()))),
                    };
                });
            case "offset_commit":
                return body(data, 9, OffsetCommitRequestData::new, value -> {
                    OffsetCommitRequestData m = (OffsetCommitRequestData) value;
                    var all = m.topics().stream().flatMap(t -> t.partitions().stream()).toList();
                    return new long[] {
                        m.generationIdOrMemberEpoch(), sum(m.topics(), t -> t.name().length()),
                        sum(all, p -> p.partitionIndex()), sum(all, p -> p.committedOffset()),
                        sum(all, p -> p.committedLeaderEpoch()), sum(all, p -> p.committedMetadata().length()),
                    };
                });
            case "share_fetch":
                return body(data, 1, ShareFetchResponseData::new, value -> {
                    ShareFetchResponseData m = (ShareFetchResponseData) value;
                    var all = m.responses().stream().flatMap(t -> t.partitions().stream()).toList();
                    var acquired = all.stream().flatMap(p -> p.acquiredRecords().stream()).toList();
                    return new long[] {
                        sum(m.responses(), t -> digits(t.topicId())), sum(all, p -> p.partitionIndex()),
                        sum(all, p -> total(((MemoryRecords) p.records()).buffer())),
                        sum(acquired, a -> a.firstOffset() + a.lastOffset()), sum(acquired, a -> a.deliveryCount()),
                    };
                });
            default:
                return null;
        }
    }

    static Case body(byte[] data, int version, BiFunction<Readable, Short, Message> read, ToLongs sums) {
        Message value = read.apply(new ByteBufferAccessor(ByteBuffer.wrap(data)), (short) version);
        return new Body(data, (short) version, read, value, sums);
    }

    static <T> long sum(Iterable<T> all, ToLongFunction<T> one) {
        long sum = 0;
        for (T each : all) sum += one.applyAsLong(each);
        return sum;
    }

    static long digits(Uuid id) {
        return total(ByteBuffer.allocate(16)
                .putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).flip());
    }

    static long total(ByteBuffer bytes) {
        if (bytes == null) return -1;
        long sum = 0;
        for (int at = bytes.position(); at < bytes.limit(); at++) sum += bytes.get(at) & 0xff;
        return sum;
    }

    static Object kept;

    public static void main(String[] args) throws Exception {
        Map<String, Case> cases = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            String name = words[1];
            if (!cases.containsKey(name)) {
                cases.put(name, load(name, Files.readAllBytes(Path.of(args[0], name + ".bin"))));
            }
            Case found = cases.get(name);
            if (found == null) {
                System.out.println("no class for it");
            } else if (words[0].equals("check")) {
                ByteBuffer bytes = found.encode();
                byte[] written = new byte[bytes.remaining()];
                bytes.get(written);
                Files.write(Path.of(words[2]), written);
                System.out.println("facts "
                        + LongStream.of(found.facts()).mapToObj(Long::toString).collect(Collectors.joining(" ")));
            } else {
                long repeats = Long.parseLong(words[2]);
                long start = System.nanoTime();
                for (long number = 0; number < repeats; number++) {
                    kept = words[0].equals("decode") ? found.decode() : found.encode();
                }
                System.out.println("ns " + (System.nanoTime() - start));
            }
        }
    }
}
