import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** The scenarios of clients.py with Java's client: ADDRESSES PROTOCOL, which is classic or consumer. */
public class Scenarios {
    static String servers;

    static Properties settings(String... pairs) {
        Properties found = new Properties();
        found.put("bootstrap.servers", servers);
        found.put("auto.offset.reset", "earliest");
        for (String name : List.of("key", "value")) {
            found.put(name + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            found.put(name + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        for (int i = 0; i < pairs.length; i += 2) {
            found.put(pairs[i], pairs[i + 1]);
        }
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        admin();
        produce();
        rebalance(arguments[1]);
        transactions();
    }

    static void admin() throws ExecutionException, InterruptedException {
        try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic("new", 2, (short) 1))).all().get();
            admin.createPartitions(Map.of("new", NewPartitions.increaseTo(3))).all().get();
            System.out.println(new TreeSet<>(admin.listTopics().names().get()));
            admin.deleteTopics(List.of("new")).all().get();
            System.out.println(admin.listTopics().names().get());
        }
    }

    static void produce() throws ExecutionException, InterruptedException {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings("enable.idempotence", "true"))) {
            for (int i = 0; i < 20; i++) {
                producer.send(new ProducerRecord<>("orders", i % 2, null, "value " + i)).get();
            }
        }
    }

    static void rebalance(String protocol) {
        Properties settings = settings("group.id", "g");
        if (protocol.equals("classic")) {
            settings.put("heartbeat.interval.ms", "100");
        } else {
            settings.put("group.protocol", protocol);
        }
        List<KafkaConsumer<String, String>> consumers = new ArrayList<>();
        int found = 0;
        for (int share = 2; share > 0; share--) {
            consumers.add(new KafkaConsumer<>(settings));
            consumers.get(2 - share).subscribe(List.of("orders"));
            for (boolean done = false; !done; ) {
                done = true;
                for (KafkaConsumer<String, String> one : consumers) {
                    found += one.poll(Duration.ofMillis(50)).count();
                    done &= found >= 20 && one.assignment().size() == share;
                }
            }
        }
        consumers.forEach(KafkaConsumer::close);
        System.out.println(found);
    }

    static void transactions() throws ExecutionException, InterruptedException {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings("transactional.id", "tx"))) {
            producer.initTransactions();
            for (String value : List.of("lost", "kept", "lost", "kept too")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>("orders", 0, null, value)).get();
                if (value.startsWith("kept")) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        TopicPartition place = new TopicPartition("orders", 0);
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings("isolation.level", "read_committed"))) {
            consumer.assign(List.of(place));
            consumer.seek(place, 10);
            List<String> found = new ArrayList<>();
            while (found.size() < 2) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    found.add(record.value());
                }
            }
            System.out.println(found);
        }
    }
}
