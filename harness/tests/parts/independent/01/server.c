void server_run(int listen_fd)
{
    int client;
    for (stop_watch(listen_fd); !stop_requested(); close(client)) {
        do
            client = net_accept(listen_fd);
        while (client == -1 && !stop_requested());
        if (client == -1)
            break;
        stop_watch(client);
        if (!stop_requested())
            conn_serve(client);
        stop_unwatch(client);
    }
    stop_unwatch(listen_fd);
}
