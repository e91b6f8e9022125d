import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams in a streams group: it counts what it wrote before, in a store with a topic of its own. */
public final class Streams {
    private static final int SECONDS = 40;
    private static final int RECORDS = 20;
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        JsonNode task = JSON.readTree(arguments[0]);
        String name = task.get("client_id").asText();
        Properties settings = new Properties();
        settings.put("bootstrap.servers", task.get("bootstrap").asText());
        settings.put("client.id", name);
        settings.put("application.id", name + "-group");
        settings.put("group.protocol", "streams");
        settings.put("auto.offset.reset", "earliest");
        settings.put("state.dir", System.getProperty("java.io.tmpdir") + "/" + name + ProcessHandle.current().pid());
        settings.put("default.key.serde", Serdes.StringSerde.class);
        settings.put("default.value.serde", Serdes.StringSerde.class);
        tell("produce", () -> produce(settings, task.get("topic").asText()));
        tell("stream", () -> count(settings, task.get("topic").asText()));
        System.exit(0);
    }

    private interface Step {
        void run() throws Exception;
    }

    private static void tell(String name, Step step) throws Exception {
        Map<String, String> result = new HashMap<>();
        result.put("step", name);
        result.put("error", null);
        try {
            step.run();
        } catch (Exception problem) {
            result.put("error", problem.toString());
        }
        System.out.println(JSON.writeValueAsString(result));
    }

    private static void produce(Properties settings, String topic) throws Exception {
        Map<String, Object> ours = Map.of(
            "bootstrap.servers", settings.get("bootstrap.servers"), "client.id", settings.get("client.id"));
        try (var producer = new KafkaProducer<>(ours, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < RECORDS; number++) {
                producer.send(new ProducerRecord<>(topic, "key " + number % 3, "value " + number)).get();
            }
        }
    }

    private static void count(Properties settings, String topic) throws Exception {
        CountDownLatch left = new CountDownLatch(RECORDS);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(topic)
            .peek((key, value) -> left.countDown())
            .groupByKey()
            .count(Materialized.as(Stores.inMemoryKeyValueStore("counts")));
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.start();
            if (!left.await(SECONDS, TimeUnit.SECONDS)) {
                throw new IllegalStateException(left.getCount() + " of " + RECORDS + " records were not read");
            }
            streams.close(Duration.ofSeconds(10));
        }
    }
}
