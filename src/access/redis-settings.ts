// The settings of the Redis that replicas share.
import { choiceSetting, integerSetting, textSetting } from '../runtime/setting.ts';

const fallbacks = ['degrade', 'open', 'closed'] as const;
export type FallbackName = (typeof fallbacks)[number];

export const redisSettings = {
  redisUrl: textSetting({
    name: 'SONANT_REDIS_URL',
    help: 'Redis or Valkey where replicas share limits, revocations and running syntheses; default: nothing is shared',
    allowed: 'a URL such as redis://host:6379/0, rediss://user:password@host:6380 or unix:///run/redis.sock',
    secret: true,
    isAllowed: (given) => /^(rediss?:\/\/[^/]|unix:\/\/.*\/)/.test(given) && URL.canParse(given),
  }),
  redisPrefix: textSetting({
    name: 'SONANT_REDIS_PREFIX',
    help: 'Prefix of all keys in Redis; the same for all replicas, and different from that of other installations',
    allowed: 'up to 64 letters, digits and . : _ -',
    fallback: 'sonant:',
    isAllowed: (given) => /^[\w.:-]{0,64}$/.test(given),
  }),
  redisFallback: choiceSetting<FallbackName>({
    name: 'SONANT_REDIS_FALLBACK',
    help: 'Limits while Redis is unavailable: each replica enforces its part of them (degrade), there are none (open), or every call fails and may be retried (closed)',
    choices: fallbacks,
    fallback: 'degrade',
  }),
  replicas: integerSetting({
    name: 'SONANT_REPLICAS',
    help: 'Number of replicas that share Redis; while it is unavailable, each enforces its part of every limit, at least one',
    min: 1,
    max: 1_000,
    fallback: 2,
  }),
};
