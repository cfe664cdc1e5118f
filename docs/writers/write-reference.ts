// `npm run gen:docs`: writes docs/reference anew, or what is in it into the folder that is named. A test holds what is
// committed to what this writes.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toGrpcMarkdown } from './grpc-markdown.ts';
import { toRestMarkdown } from './rest-markdown.ts';
import { readServedOpenApi } from './served-openapi.ts';

const { argv } = process;
const folder = argv[2] ?? join(import.meta.dirname, '..', 'reference');
const document = await readServedOpenApi();
writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(document, null, 2)}\n`);
writeFileSync(join(folder, 'rest.md'), toRestMarkdown(document));
writeFileSync(join(folder, 'grpc.md'), toGrpcMarkdown());
