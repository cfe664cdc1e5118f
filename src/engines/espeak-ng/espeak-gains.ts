// What brings each voice of eSpeak NG to the common loudness, by its own code: measured with version 1.51 on six paragraphs
// of the Universal Declaration of Human Rights in its language, the English ones on twenty sentences, to half a decibel.

const usualGainDb = 1;
const gains: readonly (readonly [codes: string, gainDb: number])[] = [
  ['mi', -9],
  ['haw', -4],
  ['gn mt tk tn', -0.5],
  ['bn cmn-latn-pinyin om sl vi-vn-x-south', 0],
  ['az en-gb-x-gbclan fa fa-latn ga gu ja ko ku pa si th ur uz vi yue', 0.5],
  ['af am be bs cs cy en-gb en-us-nyc et hr id io is kk la pt pt-br qu sv ta', 1.5],
  ['ar ca de el en-us es-419 eu hu ia kl nl pap pl ru sk uk', 2],
  ['bg eo es nb ro tt', 2.5],
  ['cmn fr-be fr-ch fr-fr it ru-lv', 3],
  ['chr-us-qaaa-x-west he', 7],
];

const byCode: ReadonlyMap<string, number> = new Map(
  gains.flatMap(([codes, gainDb]) => codes.split(' ').map((code) => [code, gainDb] as const)),
);

/** In decibels. A voice that is not in the table is as loud as most are. */
export const espeakGainDb = (code: string): number => byCode.get(code.toLowerCase()) ?? usualGainDb;
