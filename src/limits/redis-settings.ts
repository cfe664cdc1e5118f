// The settings of what replicas share: where it is, and what each of them does while it is away.
import { choiceSetting, integerSetting, textSetting } from '../setting.ts';

const fallbacks = ['degrade', 'open', 'closed'] as const;
export type FallbackName = (typeof fallbacks)[number];

export const redisSettings = {
  redisUrl: textSetting({
    name: 'SONANT_REDIS_URL',
    help: 'Redis or Valkey where replicas share limits, revocations and what is being spoken; without it, each process is alone',
    allowed: 'a URL such as redis://host:6379/0, rediss://user:password@host:6380 or unix:///run/redis.sock',
    fallback: '',
    secret: true,
    isAllowed: (given) => given === '' || (/^(rediss?:\/\/[^/]|unix:\/\/.*\/)/.test(given) && URL.canParse(given)),
  }),
  redisPrefix: textSetting({
    name: 'SONANT_REDIS_PREFIX',
    help: 'What all names in Redis begin with; the same for all replicas, and no other installation’s',
    allowed: 'up to 64 letters, digits and . : _ -',
    fallback: 'sonant:',
    isAllowed: (given) => /^[\w.:-]{0,64}$/.test(given),
  }),
  redisFallback: choiceSetting<FallbackName>({
    name: 'SONANT_REDIS_FALLBACK',
    help: 'What becomes of limits while Redis is away: each replica keeps its part of them (degrade), nobody is limited (open), or every call is told to come again (closed)',
    choices: fallbacks,
    fallback: 'degrade',
  }),
  replicas: integerSetting({
    name: 'SONANT_REPLICAS',
    help: 'Replicas that share Redis: while it is away, each gives out that part of every limit, but one at least',
    min: 1,
    max: 1_000,
    fallback: 2,
  }),
};
