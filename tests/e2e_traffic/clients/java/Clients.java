import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own clients, where a release comes without console tools: a task as JSON, and a line for each step, as
 * steps.py has it. The setting group is the kind of group: classic, consumer or share.
 */
public final class Clients {
    private static final int SECONDS = 15;
    private static final int RECORDS = 20;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, String> MODULES =
        Map.of("PLAIN", "plain.PlainLogin", "SCRAM-SHA-256", "scram.ScramLogin", "SCRAM-SHA-512", "scram.ScramLogin");

    private final JsonNode task;
    private final String topic;
    private final String group;

    private Clients(JsonNode task) {
        this.task = task;
        this.topic = task.get("topic").asText();
        this.group = task.get("client_id").asText() + "-group";
    }

    public static void main(String[] arguments) throws Exception {
        Clients client = new Clients(JSON.readTree(arguments[0]));
        boolean share = client.task.at("/settings/group").asText().equals("share");
        Map<String, Callable<?>> steps = new LinkedHashMap<>();
        if (share) {
            steps.put("begin", client::begin);
        }
        steps.put("produce", client::produce);
        steps.put("consume", share ? client::share : client::consume);
        steps.put("create", client::create);
        steps.put("describe", share ? client::describeShared : client::describe);
        for (Map.Entry<String, Callable<?>> step : steps.entrySet()) {
            Map<String, String> result = new HashMap<>();
            result.put("step", step.getKey());
            result.put("error", null);
            try {
                step.getValue().call();
            } catch (Exception problem) {
                result.put("error", problem.toString());
            }
            System.out.println(JSON.writeValueAsString(result));
        }
    }

    private Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", task.get("bootstrap").asText());
        settings.put("client.id", task.get("client_id").asText());
        settings.put("request.timeout.ms", SECONDS * 1000);
        settings.put("default.api.timeout.ms", SECONDS * 1000);
        String mechanism = task.get("mechanism").asText("null");
        if (MODULES.containsKey(mechanism)) {
            settings.put("security.protocol", "SASL_PLAINTEXT");
            settings.put("sasl.mechanism", mechanism);
            settings.put("sasl.jaas.config", String.format(
                "org.apache.kafka.common.security.%sModule required username=\"%s\" password=\"%s\";",
                MODULES.get(mechanism), task.get("user").asText(), task.get("password").asText()));
        }
        return settings;
    }

    private Map<String, Object> reading() {
        Map<String, Object> settings = settings();
        settings.put("group.id", group);
        settings.remove("request.timeout.ms");
        return settings;
    }

    /** A share group begins at the end of the log unless it is told otherwise before. */
    private Object begin() throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
        AlterConfigOp set = new AlterConfigOp(earliest, AlterConfigOp.OpType.SET);
        try (Admin admin = Admin.create(settings())) {
            return admin.incrementalAlterConfigs(Map.of(resource, List.of(set))).all().get();
        }
    }

    private Object produce() throws Exception {
        Map<String, Object> settings = settings();
        settings.put("delivery.timeout.ms", 2 * SECONDS * 1000);
        try (var producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<?>> sent = new ArrayList<>();
            for (int number = 0; number < RECORDS; number++) {
                sent.add(producer.send(new ProducerRecord<>(topic, ("value " + number).getBytes())));
            }
            for (Future<?> each : sent) {
                each.get();
            }
            return null;
        }
    }

    private Object consume() {
        Map<String, Object> settings = reading();
        settings.put("group.protocol", task.at("/settings/group").asText("classic"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        try (var consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            long deadline = System.currentTimeMillis() + 2 * SECONDS * 1000;
            int found = 0;
            while (found < RECORDS && System.currentTimeMillis() < deadline) {
                found += consumer.poll(Duration.ofSeconds(1)).count();
            }
            consumer.commitSync();
            return check(found);
        }
    }

    private Object share() {
        try (var consumer =
                new KafkaShareConsumer<>(reading(), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            long deadline = System.currentTimeMillis() + 2 * SECONDS * 1000;
            int found = 0;
            while (found < RECORDS && System.currentTimeMillis() < deadline) {
                found += consumer.poll(Duration.ofSeconds(1)).count();
            }
            consumer.commitSync();
            return check(found);
        }
    }

    private static Object check(int found) {
        if (found < RECORDS) {
            throw new IllegalStateException(found + " of " + RECORDS + " records were read");
        }
        return null;
    }

    private Object create() throws Exception {
        NewTopic made = new NewTopic(task.get("client_id").asText() + "-made", 1, (short) 1);
        try (Admin admin = Admin.create(settings())) {
            return admin.createTopics(List.of(made)).all().get();
        }
    }

    private Object describe() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            describeTopic(admin);
            admin.describeConsumerGroups(List.of(group)).all().get();
            return admin.listConsumerGroupOffsets(group).all().get();
        }
    }

    private Object describeShared() throws Exception {
        try (Admin admin = Admin.create(settings())) {
            describeTopic(admin);
            return admin.describeShareGroups(List.of(group)).all().get();
        }
    }

    private void describeTopic(Admin admin) throws Exception {
        admin.describeTopics(List.of(topic)).allTopicNames().get();
        admin.describeConfigs(List.of(new ConfigResource(ConfigResource.Type.TOPIC, topic))).all().get();
        admin.listGroups().all().get();
    }
}
