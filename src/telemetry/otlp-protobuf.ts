// Encodes OTLP messages in protobuf. The messages are those of OTLP in JSON (`otlp-export.ts`); the tables have the
// numbers and types of their fields (https://github.com/open-telemetry/opentelemetry-proto, v1).
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'fixed64' | 'double';
type Shape = { readonly [field: string]: readonly [number: number, type: Scalar | Shape] };

const anyValue: Shape = {
  stringValue: [1, 'string'],
  boolValue: [2, 'bool'],
  intValue: [3, 'int64'],
  doubleValue: [4, 'double'],
};
const keyValue: Shape = { key: [1, 'string'], value: [2, anyValue] };
const resource: Shape = { attributes: [1, keyValue] };
const scope: Shape = { name: [1, 'string'] };
const span: Shape = {
  traceId: [1, 'bytes'],
  spanId: [2, 'bytes'],
  parentSpanId: [4, 'bytes'],
  name: [5, 'string'],
  kind: [6, 'int32'],
  startTimeUnixNano: [7, 'fixed64'],
  endTimeUnixNano: [8, 'fixed64'],
  attributes: [9, keyValue],
  status: [15, { message: [2, 'string'], code: [3, 'int32'] }],
};
const times: Shape = { startTimeUnixNano: [2, 'fixed64'], timeUnixNano: [3, 'fixed64'] };
const numberPoint: Shape = { ...times, asDouble: [4, 'double'], attributes: [7, keyValue] };
const histogramPoint: Shape = {
  ...times,
  count: [4, 'fixed64'],
  sum: [5, 'double'],
  bucketCounts: [6, 'fixed64'],
  explicitBounds: [7, 'double'],
  attributes: [9, keyValue],
};
const metric: Shape = {
  name: [1, 'string'],
  description: [2, 'string'],
  unit: [3, 'string'],
  gauge: [5, { dataPoints: [1, numberPoint] }],
  sum: [7, { dataPoints: [1, numberPoint], aggregationTemporality: [2, 'int32'], isMonotonic: [3, 'bool'] }],
  histogram: [9, { dataPoints: [1, histogramPoint], aggregationTemporality: [2, 'int32'] }],
};
const request: Shape = {
  resourceSpans: [1, { resource: [1, resource], scopeSpans: [2, { scope: [1, scope], spans: [2, span] }] }],
  resourceMetrics: [1, { resource: [1, resource], scopeMetrics: [2, { scope: [1, scope], metrics: [2, metric] }] }],
};

export const toOtlpProtobuf = (message: object): Uint8Array<ArrayBuffer> =>
  write(new BinaryWriter(), request, message).finish();

function write(writer: BinaryWriter, shape: Shape, message: object): BinaryWriter {
  for (const [field, value] of Object.entries(message)) {
    const [number, type] = shape[field]!;
    if (typeof type === 'object') {
      for (const each of Array.isArray(value) ? value : [value])
        write(writer.tag(number, WireType.LengthDelimited).fork(), type, each).join();
    } else if (Array.isArray(value)) {
      writer.tag(number, WireType.LengthDelimited).fork();
      for (const each of value) scalars[type][1](writer, each as never);
      writer.join();
    } else scalars[type][1](writer.tag(number, scalars[type][0]), value as never);
  }
  return writer;
}

/** Ids are hexadecimal in OTLP's JSON. */
const scalars: Readonly<Record<Scalar, readonly [WireType, (writer: BinaryWriter, value: never) => BinaryWriter]>> = {
  string: [WireType.LengthDelimited, (writer, value) => writer.string(value)],
  bytes: [WireType.LengthDelimited, (writer, value) => writer.bytes(Buffer.from(value, 'hex'))],
  bool: [WireType.Varint, (writer, value) => writer.bool(value)],
  int32: [WireType.Varint, (writer, value) => writer.int32(value)],
  int64: [WireType.Varint, (writer, value) => writer.int64(value)],
  fixed64: [WireType.Bit64, (writer, value) => writer.fixed64(value)],
  double: [WireType.Bit64, (writer, value) => writer.double(value)],
};
