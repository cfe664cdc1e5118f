// Routes that are sent nothing: whatever body comes all the same, of whatever type, is passed over. What they do must not
// be refused for what a client adds by itself.
import type { FastifyInstance } from 'fastify';

export function addWithoutBody(app: FastifyInstance, addRoutes: (scope: FastifyInstance) => void): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => {
      payload.resume();
      done(null);
    });
    addRoutes(scope);
  });
}
