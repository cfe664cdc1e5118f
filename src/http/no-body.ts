// Routes without a body. A body of any type is discarded: some clients send one by default, and must not be rejected
// for it.
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
