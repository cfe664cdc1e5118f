// The settings for storing audio in S3: the bucket, the prefix, and how clients reach it. The AWS SDK takes credentials and
// region from its own variables (AWS_ACCESS_KEY_ID, AWS_REGION, ...), files and roles.
import { choiceSetting, textSetting } from '../../runtime/setting.ts';

/** A base URL that paths are appended to: no query, no fragment, no slash at the end. */
const isBaseUrl = (given: string) =>
  /^https?:\/\/[^/?#]+(\/[^?#]*)?$/.test(given) && !given.endsWith('/') && URL.canParse(given);

export const s3Settings = {
  s3Bucket: textSetting({
    name: 'SONANT_S3_BUCKET',
    help: 'Bucket for stored audio; without it, audio is stored in the data folder',
    allowed: 'the name of a bucket',
    isAllowed: (given) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(given),
  }),
  s3Endpoint: textSetting({
    name: 'SONANT_S3_ENDPOINT',
    help: "Address of the S3 service; default: Amazon's, in the region of AWS_REGION",
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: isBaseUrl,
  }),
  s3Prefix: textSetting({
    name: 'SONANT_S3_PREFIX',
    help: 'Prefix of the keys in the bucket, such as sonant/',
    allowed: 'letters, digits, - _ . and /, with a / at its end and none at its beginning',
    isAllowed: (given) => /^([\w-][\w.-]*\/){1,20}$/.test(given),
  }),
  s3Links: choiceSetting<'proxy' | 'presigned' | 'public'>({
    name: 'SONANT_S3_LINKS',
    help: 'How audio URLs are served: proxy streams through Sonant, presigned and public redirect to the store',
    choices: ['proxy', 'presigned', 'public'],
    fallback: 'proxy',
  }),
  s3PublicUrl: textSetting({
    name: 'SONANT_S3_PUBLIC_URL',
    help: 'For public links, the address of the bucket; for presigned ones, that of the S3 service if clients know another than SONANT_S3_ENDPOINT',
    allowed: 'an http or https URL without a slash at its end',
    isAllowed: isBaseUrl,
  }),
};
