import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Runs Debezium by its properties, NAME=VALUE each, and writes its events into a file, until standard input ends. */
public class Changes {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (String argument : arguments) {
            String[] pair = argument.split("=", 2);
            properties.setProperty(pair[0], pair[1]);
        }
        try (Writer output = Files.newBufferedWriter(Path.of((String) properties.remove("output")))) {
            DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class)
                .using(properties).notifying(event -> write(event.value(), output)).build();
            ExecutorService thread = Executors.newSingleThreadExecutor();
            thread.execute(engine);
            while (System.in.read() >= 0) { }
            engine.close();
            thread.shutdownNow();
        }
        System.exit(0);
    }

    private static void write(String event, Writer output) {
        try {
            if (event != null) { // a tombstone, after a delete
                output.write(event + "\n");
                output.flush();
            }
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }
}
