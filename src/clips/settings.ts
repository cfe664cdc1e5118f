// The settings of stored audio, its marks and jobs.
import type { InForce } from '../platform/runtime/config-mistakes.ts';
import {
  choiceSetting,
  integerSetting,
  pathSetting,
  type SettingValues,
  textSetting,
  urlSetting,
} from '../platform/runtime/setting-types.ts';
import type { storeSettings } from '../platform/store/settings.ts';

export const clipSettings = {
  audioKeepHours: integerSetting({
    name: 'SONANT_AUDIO_KEEP_HOURS',
    help: 'Hours until stored audio expires',
    range: [1, 8760],
    fallback: 24,
  }),
  audioMibMax: integerSetting({
    name: 'SONANT_AUDIO_MIB_MAX',
    help: 'MiB of stored audio in total; 0: half of the file system of the data folder, or no limit in a bucket',
    range: [0, 1_000_000_000],
    fallback: 0,
  }),
  audioMibPerKey: integerSetting({
    name: 'SONANT_AUDIO_MIB_PER_KEY',
    help: 'MiB of stored audio of an account: a key and all keys derived from it; 0: a quarter of the total limit',
    range: [0, 1_000_000_000],
    fallback: 0,
  }),
  s3Bucket: textSetting({
    name: 'SONANT_S3_BUCKET',
    help: 'Bucket for stored audio; without it, audio is stored in the data folder',
    allowed: 'the name of a bucket',
    isAllowed: (given) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(given),
  }),
  s3Endpoint: urlSetting({
    name: 'SONANT_S3_ENDPOINT',
    help: "Address of the S3 service; default: Amazon's, in the region of AWS_REGION",
    mayHaveQuery: false,
  }),
  s3Prefix: textSetting({
    name: 'SONANT_S3_PREFIX',
    help: 'Prefix of the keys in the bucket, such as sonant/',
    allowed: 'letters, digits, - _ . and /, ending but not beginning with /',
    isAllowed: (given) => /^([\w-][\w.-]*\/){1,20}$/.test(given),
  }),
  s3Links: choiceSetting<'proxy' | 'presigned' | 'public'>({
    name: 'SONANT_S3_LINKS',
    help: 'How audio URLs are served: proxy streams through Sonant, presigned and public redirect to the store',
    choices: ['proxy', 'presigned', 'public'],
    fallback: 'proxy',
  }),
  s3PublicUrl: urlSetting({
    name: 'SONANT_S3_PUBLIC_URL',
    help: 'For public links, the address of the bucket; for presigned links, the address of the S3 service if clients use another than SONANT_S3_ENDPOINT',
    mayHaveQuery: false,
  }),
  provenance: choiceSetting<'on' | 'off'>({
    name: 'SONANT_PROVENANCE',
    help: 'Whether audio files state that they are synthetic speech, in their tags and in C2PA manifests. Laws may require this mark, such as Art. 50 of the EU AI Act',
    choices: ['on', 'off'],
    fallback: 'on',
  }),
  provenanceOperator: textSetting({
    name: 'SONANT_PROVENANCE_OPERATOR',
    help: 'Name of the operator, stated in the tags of audio files and in self-signed certificates; default: none is stated',
    allowed: 'up to 200 characters without control characters',
    isAllowed: (given) => /^[^\p{C}]{0,200}$/u.test(given),
  }),
  provenanceCert: pathSetting({
    name: 'SONANT_PROVENANCE_CERT',
    help: 'File with the certificate chain (PEM, P-256) that signs C2PA manifests, the same for all replicas; default: a self-signed certificate in the data folder, made at the first use',
  }),
  provenanceKey: pathSetting({
    name: 'SONANT_PROVENANCE_KEY',
    help: 'File with the private key of SONANT_PROVENANCE_CERT (PEM)',
  }),
  receipts: choiceSetting<'on' | 'off'>({
    name: 'SONANT_RECEIPTS',
    help: 'Whether receipts, which contain the text, are stored beside audio with a link and jobs',
    choices: ['on', 'off'],
    fallback: 'on',
  }),
  jobChaptersMax: integerSetting({
    name: 'SONANT_JOB_CHAPTERS',
    help: 'Chapters of jobs that this process speaks at once, after interactive requests; 0 to leave jobs to other replicas',
    range: [0, 1000],
    fallback: 4,
  }),
};

/** The settings with which clips are opened. */
export type ClipConfig = SettingValues<typeof clipSettings & typeof storeSettings> & InForce;
