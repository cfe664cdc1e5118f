// `npm run gen:docs`: writes docs/reference anew. The test of the same name holds it to what the service serves.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readServedOpenApi } from './served-openapi.ts';

const folder = join(import.meta.dirname, '..', 'reference');
const document = await readServedOpenApi();
writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(document, null, 2)}\n`);
