import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor.MemberData;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.Checkpoint;
import org.apache.kafka.connect.mirror.Heartbeat;
import org.apache.kafka.connect.mirror.OffsetSync;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol.Assignment;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol.WorkerState;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Answers what Kafka's classes make of bytes that no generated class reads: a line for a line, words with blanks
 * between them, bytes in hexadecimal.
 *
 * <pre>
 * make KIND VERSION SEED        → ok KEY VALUE JSON    of an object made here
 * read KIND VERSION KEY VALUE   → ok KEY VALUE JSON    of the object that was read, written again
 * </pre>
 *
 * JSON is a list of two: the fields of the key, or null, and those of the value. Only records have a key.
 */
public final class InCode {
    private static final HexFormat HEX = HexFormat.of();
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" ", -1));
            } catch (Exception | AssertionError thrown) {
                Throwable cause = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
                answer = "error\t" + cause.toString().replaceAll("\\s+", " ");
            }
            out.print(answer);
            out.print('\n');
            out.flush();
        }
    }

    private static String answer(String[] words) throws Exception {
        short version = Short.parseShort(words[2]);
        Object value = words[0].equals("make")
            ? make(words[1], version, new Random(Long.parseLong(words[3])))
            : read(words[1], version, HEX.parseHex(words[3]), HEX.parseHex(words[4]));
        byte[][] written = write(words[1], version, value);
        ArrayNode json = JSON.createArrayNode();
        describe(words[1], version, value, json);
        return "ok\t" + HEX.formatHex(written[0]) + "\t" + HEX.formatHex(written[1]) + "\t" + JSON.writeValueAsString(json);
    }

    private static Object make(String kind, short version, Random random) throws Exception {
        return switch (kind) {
            case "ConnectMemberMetadata" -> version == 0
                ? new WorkerState(text(random), random.nextLong())
                : new ExtendedWorkerState(text(random), random.nextLong(), random.nextBoolean() ? null : extended(version, random));
            case "ConnectMemberAssignment" -> version == 0
                ? new Assignment((short) random.nextInt(2), text(random), text(random), random.nextLong(), names(random), tasks(random))
                : extended(version, random);
            case "MirrorHeartbeat" -> new Heartbeat(text(random), text(random), random.nextLong());
            case "MirrorCheckpoint" ->
                new Checkpoint(text(random), partition(random), random.nextLong(), random.nextLong(), text(random));
            case "MirrorOffsetSync" -> new OffsetSync(partition(random), random.nextLong(), random.nextLong());
            case "StickyAssignorUserData" -> new MemberData(partitions(random), Optional.of(random.nextInt()));
            case "CooperativeStickyAssignorUserData" -> new MemberData(List.of(), Optional.of(random.nextInt()));
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static ExtendedAssignment extended(short version, Random random) {
        return new ExtendedAssignment(version, (short) random.nextInt(2), text(random), text(random), random.nextLong(),
            names(random), tasks(random), names(random), tasks(random), random.nextInt());
    }

    private static Object read(String kind, short version, byte[] key, byte[] value) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(value);
        ConsumerRecord<byte[], byte[]> record = new ConsumerRecord<>("t", 0, 0, key, value);
        return switch (kind) {
            case "ConnectMemberMetadata" -> version == 0
                ? ConnectProtocol.deserializeMetadata(buffer)
                : IncrementalCooperativeConnectProtocol.deserializeMetadata(buffer);
            case "ConnectMemberAssignment" -> version == 0
                ? ConnectProtocol.deserializeAssignment(buffer)
                : IncrementalCooperativeConnectProtocol.deserializeAssignment(buffer);
            case "MirrorHeartbeat" -> Heartbeat.deserializeRecord(record);
            case "MirrorCheckpoint" -> Checkpoint.deserializeRecord(record);
            case "MirrorOffsetSync" -> OffsetSync.deserializeRecord(record);
            case "StickyAssignorUserData" -> call(StickyAssignor.class, null, "deserializeTopicPartitionAssignment", buffer);
            case "CooperativeStickyAssignorUserData" ->
                call(CooperativeStickyAssignor.class, new CooperativeStickyAssignor(), "memberData", new Subscription(List.of("t"), buffer));
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static byte[][] write(String kind, short version, Object value) throws Exception {
        boolean sessioned = version == 2;
        return switch (kind) {
            case "ConnectMemberMetadata" -> alone(version == 0
                ? ConnectProtocol.serializeMetadata((WorkerState) value)
                : IncrementalCooperativeConnectProtocol.serializeMetadata((ExtendedWorkerState) value, sessioned));
            case "ConnectMemberAssignment" -> alone(assignment(version, (Assignment) value));
            case "StickyAssignorUserData" -> version == 0 // which Java reads and never writes
                ? alone(ByteBuffer.allocate(0))
                : alone((ByteBuffer) call(StickyAssignor.class, null, "serializeTopicPartitionAssignment", value));
            case "CooperativeStickyAssignorUserData" -> alone(cooperative((MemberData) value));
            default -> new byte[][] {
                (byte[]) call(value.getClass(), value, "recordKey"), (byte[]) call(value.getClass(), value, "recordValue")
            };
        };
    }

    private static ByteBuffer assignment(short version, Assignment value) {
        return version == 0
            ? ConnectProtocol.serializeAssignment(value)
            : IncrementalCooperativeConnectProtocol.serializeAssignment((ExtendedAssignment) value, version == 2);
    }

    private static ByteBuffer cooperative(MemberData value) throws ReflectiveOperationException {
        CooperativeStickyAssignor assignor = new CooperativeStickyAssignor();
        Field generation = CooperativeStickyAssignor.class.getDeclaredField("generation");
        generation.setAccessible(true);
        generation.setInt(assignor, value.generation.orElseThrow());
        return assignor.subscriptionUserData(Set.of("t"));
    }

    private static void describe(String kind, short version, Object value, ArrayNode json) throws Exception {
        if (value instanceof WorkerState state) {
            ObjectNode fields = json.addNull().addObject().put("url", state.url()).put("configOffset", state.offset());
            if (state instanceof ExtendedWorkerState extended) {
                ByteBuffer bytes = extended.assignment() == null ? null : assignment(version, extended.assignment());
                boolean none = bytes == null || extended.assignment().equals(ExtendedAssignment.empty());
                fields.put("allocation", none ? null : Base64.getEncoder().encodeToString(bytes(bytes)));
            }
        } else if (value instanceof Assignment found) {
            ObjectNode fields = json.addNull().addObject().put("error", found.error()).put("leader", found.leader());
            fields.put("leaderUrl", found.leaderUrl()).put("configOffset", found.offset());
            work(fields, "assignment", (Map<?, ?>) call(Assignment.class, found, "asMap"));
            if (found instanceof ExtendedAssignment more) {
                work(fields, "revoked", (Map<?, ?>) call(ExtendedAssignment.class, more, "revokedAsMap"));
                fields.put("delay", more.delay());
            }
        } else if (value instanceof Heartbeat heartbeat) {
            json.addObject().put("sourceClusterAlias", heartbeat.sourceClusterAlias())
                .put("targetClusterAlias", heartbeat.targetClusterAlias());
            json.addObject().put("timestamp", heartbeat.timestamp());
        } else if (value instanceof Checkpoint checkpoint) {
            json.addObject().put("group", checkpoint.consumerGroupId()).put("topic", checkpoint.topicPartition().topic())
                .put("partition", checkpoint.topicPartition().partition());
            json.addObject().put("upstreamOffset", checkpoint.upstreamOffset())
                .put("offset", checkpoint.downstreamOffset()).put("metadata", checkpoint.metadata());
        } else if (value instanceof OffsetSync sync) {
            json.addObject().put("topic", sync.topicPartition().topic()).put("partition", sync.topicPartition().partition());
            json.addObject().put("upstreamOffset", sync.upstreamOffset()).put("offset", sync.downstreamOffset());
        } else if (kind.equals("StickyAssignorUserData")) {
            ObjectNode fields = json.addNull().addObject();
            ArrayNode topics = fields.putArray("previousAssignment");
            for (TopicPartition each : ((MemberData) value).partitions) {
                if (topics.isEmpty() || !topics.get(topics.size() - 1).get("topic").asText().equals(each.topic())) {
                    topics.addObject().put("topic", each.topic()).putArray("partitions");
                }
                ((ArrayNode) topics.get(topics.size() - 1).get("partitions")).add(each.partition());
            }
            if (version > 0) {
                fields.put("generation", ((MemberData) value).generation.orElse(-1));
            }
        } else {
            json.addNull().addObject().put("generation", ((MemberData) value).generation.orElseThrow());
        }
    }

    private static void work(ObjectNode fields, String name, Map<?, ?> work) {
        ArrayNode connectors = work == null ? null : fields.putArray(name);
        if (connectors == null) {
            fields.putNull(name);
            return;
        }
        for (Map.Entry<?, ?> entry : work.entrySet()) {
            ArrayNode tasks = connectors.addObject().put("connector", (String) entry.getKey()).putArray("tasks");
            ((Collection<?>) entry.getValue()).forEach(task -> tasks.add((Integer) task));
        }
    }

    private static Object call(Class<?> type, Object target, String name, Object... arguments) throws Exception {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                method.setAccessible(true);
                return method.invoke(target, arguments);
            }
        }
        throw new NoSuchMethodException(type + "." + name);
    }

    private static byte[][] alone(ByteBuffer value) {
        return new byte[][] {new byte[0], bytes(value)};
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] found = new byte[buffer.remaining()];
        buffer.duplicate().get(found);
        return found;
    }

    private static String text(Random random) {
        StringBuilder made = new StringBuilder();
        for (int left = random.nextInt(random.nextInt(8) == 0 ? 300 : 12); left > 0; left--) {
            made.appendCodePoint(random.nextInt(4) > 0 ? 'a' + random.nextInt(26) : 0xa1 + random.nextInt(0x2000));
        }
        return made.toString();
    }

    private static List<String> names(Random random) {
        Set<String> names = new LinkedHashSet<>();
        for (int left = random.nextInt(4); left > 0; left--) {
            names.add(text(random));
        }
        return new ArrayList<>(names);
    }

    private static List<ConnectorTaskId> tasks(Random random) {
        List<ConnectorTaskId> tasks = new ArrayList<>();
        for (String name : names(random)) {
            for (int left = random.nextInt(4); left > 0; left--) {
                tasks.add(new ConnectorTaskId(name, random.nextInt(Integer.MAX_VALUE)));
            }
        }
        return tasks;
    }

    private static TopicPartition partition(Random random) {
        return new TopicPartition(text(random), random.nextInt());
    }

    private static List<TopicPartition> partitions(Random random) {
        List<TopicPartition> found = new ArrayList<>();
        for (String name : names(random)) {
            for (int left = 1 + random.nextInt(4); left > 0; left--) {
                found.add(new TopicPartition(name, random.nextInt()));
            }
        }
        return found;
    }
}
