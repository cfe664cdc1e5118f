// A form that brings files (multipart/form-data, RFC 7578), read whole into texts and bytes: so large, with so many parts,
// and nothing half read. Which names are files is said by the route, not by what a client calls them.
import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';
import { uploadArrivalMs, uploadBytesMax } from '../rpc/limits.ts';
import { readBody } from '../rpc/request-body.ts';
import { takeUploadPlace } from '../rpc/upload-places.ts';
import { formPartsMax, formTextBytesMax } from './limits.ts';

const message = 'The request body must be application/json or multipart/form-data, not compressed.';

export class FormBody {
  /** Each name with the texts that came under it. */
  readonly texts = new Map<string, string[]>();
  readonly files = new Map<string, Uint8Array>();
}

const limits = { bytesMax: uploadBytesMax, arrivalMs: uploadArrivalMs, takePlace: takeUploadPlace };

/** Lets the routes of this scope be sent forms besides JSON. */
export function readForms(scope: FastifyInstance, fileNames: readonly string[]): void {
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new Failure('unsupported_media_type', { message })),
  );
  scope.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, payload: IncomingMessage) => {
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = request.headers;
    if (!/^identity$/i.test(encoding)) throw new Failure('unsupported_media_type', { message });
    for await (const bytes of readBody(payload, limits)) return parseForm(bytes, type, fileNames);
    return undefined;
  });
}

function parseForm(bytes: Uint8Array, type: string, fileNames: readonly string[]): Promise<FormBody> {
  const form = new FormBody();
  const broken = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);
  return new Promise((resolve, reject) => {
    const notForm = (cause?: unknown) => reject(broken('The body is not the form that its Content-Type says.', cause));
    let parser: InstanceType<typeof Busboy>;
    try {
      parser = new Busboy({
        headers: { 'content-type': type },
        limits: { parts: formPartsMax, fieldSize: formTextBytesMax, fileSize: uploadBytesMax },
        isPartAFile: (name) => name !== undefined && fileNames.includes(name),
      });
    } catch (error) {
      return notForm(error);
    }
    const pending: Promise<void>[] = [];
    parser.on('field', (name, text, nameTruncated, textTruncated) => {
      if (nameTruncated || textTruncated) reject(broken(`The form’s ${name.slice(0, 64)} is too long.`));
      form.texts.set(name, [...(form.texts.get(name) ?? []), text]);
    });
    parser.on('file', (name, file) => {
      if (form.files.has(name)) reject(broken(`The form holds ${name} twice.`));
      form.files.set(name, new Uint8Array());
      const pieces: Buffer[] = [];
      file.on('data', (piece: Buffer) => pieces.push(piece));
      pending.push(
        new Promise((done) => {
          file.on('error', notForm);
          file.on('end', () => {
            form.files.set(name, Buffer.concat(pieces));
            done();
          });
        }),
      );
    });
    parser.on('partsLimit', () => reject(broken(`The form has more than ${formPartsMax} parts.`)));
    parser.on('error', notForm);
    parser.on('finish', () => void Promise.all(pending).then(() => resolve(form)));
    parser.end(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  });
}
