// REST, gRPC, the APIs of vendors, and the sockets below them.

// HTTP

export { type Gateway, openGateway } from './transports/gateway.ts';
export { openAdminServer } from './transports/http/health-routes.ts';

// gRPC and Connect

export { openRpcServer } from './transports/rpc/server.ts';
export { addRpcRoutes, createServices } from './transports/rpc/services.ts';

// APIs of vendors

export { openWyomingServer } from './transports/vendors/wyoming/wyoming-server.ts';

// Sockets

export { createConnections } from './transports/net/connections.ts';
export { apiVersion } from './transports/net/headers.ts';
export { openSharedPort, type Tls } from './transports/net/listen.ts';
