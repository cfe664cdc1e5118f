// Reads a form with files (multipart/form-data, RFC 7578) into strings and bytes, with limits on size and number of
// parts. The route, not the client, decides which fields are files.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure, invalidField } from '../../platform/errors.ts';
import { uploadArrivalMs, uploadBytesMax } from '../../platform/net/request-limits.ts';
import { ownTurn } from '../../platform/runtime/steps.ts';
import { parseBody } from '../net/request-body.ts';
import { formPartsMax, formTextBytesMax } from './http-limits.ts';
import { checkUncompressed } from './request-fields.ts';

const message = 'The request body must be application/json or multipart/form-data, uncompressed.';

export class FormBody {
  /** All values of each name. */
  readonly texts = new Map<string, string[]>();
  readonly files = new Map<string, Uint8Array>();
}

const limits = { bytesMax: uploadBytesMax, arrivalMs: uploadArrivalMs };

/**
 * Forms are parsed in pieces of this size, so that a form with too many small parts (0.3 ms of CPU per KiB) is rejected
 * early.
 */
const pieceBytes = 8_192;
/** After this many pieces, other requests can run. */
const piecesOfTurn = 8;

interface FormNames {
  fileNames: readonly string[];
  textNames: readonly string[];
}

/** Makes the routes of this scope accept forms as well as JSON. */
export function readForms(scope: FastifyInstance, names: FormNames): void {
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new Failure('unsupported_media_type', { message })),
  );
  scope.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-type': type = '' } = request.headers;
    checkUncompressed(request.headers);
    return parseBody(payload, limits, (bytes) => parseForm(bytes, type, names));
  });
}

function parseForm(bytes: Buffer, type: string, { fileNames, textNames }: FormNames): Promise<FormBody> {
  const form = new FormBody();
  const broken = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);
  return new Promise((resolve, giveUp) => {
    let isOver = false;
    const reject = (failure: Failure) => {
      isOver = true;
      giveUp(failure);
    };
    const notForm = (cause?: unknown) =>
      reject(broken('The body does not match its Content-Type: it is not a valid form.', cause));
    let parser: InstanceType<typeof Busboy>;
    try {
      parser = new Busboy({
        headers: { 'content-type': type },
        limits: { parts: formPartsMax, fileSize: uploadBytesMax },
        // Text parts are read as bytes too, so that their encoding can be checked.
        isPartAFile: () => true,
      });
    } catch (error) {
      return notForm(error);
    }
    const pending: Promise<void>[] = [];
    const keep = (name: string, bytes: Buffer) => {
      if (fileNames.includes(name)) {
        if (form.files.has(name)) reject(invalidField(name, 'conflict', 'must be given once'));
        form.files.set(name, bytes);
        return;
      }
      // The encoding of unknown fields is not checked.
      const isKnown = textNames.includes(name);
      if (isKnown && bytes.length > formTextBytesMax) reject(broken(`The form’s ${name} is too long.`));
      if (isKnown && !isUtf8(bytes)) reject(broken(`The form’s ${name} is not valid UTF-8.`));
      form.texts.set(name, [...(form.texts.get(name) ?? []), isKnown ? bytes.toString() : '']);
    };
    parser.on('file', (name, file) => {
      const pieces: Buffer[] = [];
      file.on('data', (piece: Buffer) => pieces.push(piece));
      pending.push(
        new Promise((done) => {
          file.on('error', notForm);
          file.on('end', () => {
            keep(name, Buffer.concat(pieces));
            done();
          });
        }),
      );
    });
    parser.on('partsLimit', () => reject(broken(`The form has more than ${formPartsMax} parts.`)));
    parser.on('error', notForm);
    parser.on('finish', () => void Promise.all(pending).then(() => resolve(form)));
    feed(parser, bytes, () => isOver).catch(notForm);
  });
}

async function feed(parser: InstanceType<typeof Busboy>, bytes: Buffer, isOver: () => boolean): Promise<void> {
  for (let n = 0; n * pieceBytes < bytes.length && !isOver(); n++) {
    if (n > 0 && n % piecesOfTurn === 0) await ownTurn();
    parser.write(bytes.subarray(n * pieceBytes, (n + 1) * pieceBytes));
  }
  if (!isOver()) parser.end();
}
