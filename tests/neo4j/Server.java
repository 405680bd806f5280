import java.nio.file.Path;
import java.time.Duration;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.ConnectorPortRegister;
import org.neo4j.configuration.connectors.ConnectorType;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/** A Neo4j server in the folder args[0], on a free port of the loopback; ends when its standard input does. */
public class Server {
    public static void main(String[] args) throws Exception {
        DatabaseManagementService service = new DatabaseManagementServiceBuilder(Path.of(args[0]))
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", 0))
            .setConfig(HttpConnector.enabled, false)
            .setConfig(GraphDatabaseSettings.auth_enabled, false)
            .setConfig(GraphDatabaseSettings.pagecache_memory, 128L * 1024 * 1024)
            // a quarter of a gigabyte that nobody fills
            .setConfig(GraphDatabaseSettings.preallocate_logical_logs, false)
            .setConfig(GraphDatabaseSettings.preallocate_store_files, false)
            // a hundred tiny graphs in a minute: planning each anew costs more than any plan saves
            .setConfig(GraphDatabaseSettings.cypher_min_replan_interval, Duration.ofHours(1))
            .build();
        GraphDatabaseAPI database = (GraphDatabaseAPI) service.database(GraphDatabaseSettings.DEFAULT_DATABASE_NAME);
        ConnectorPortRegister ports = database.getDependencyResolver().resolveDependency(ConnectorPortRegister.class);
        System.out.println("port " + ports.getLocalAddress(ConnectorType.BOLT).getPort());
        System.out.flush();
        while (System.in.read() >= 0) { }
        service.shutdown();
    }
}
