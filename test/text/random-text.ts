// Generates deterministic texts from awkward fragments.

/** Numbers in [0, 1), the same for the same seed (xorshift). */
export function createRandom(seed: number): () => number {
  let state = (seed * 2654435761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

const fragments = [
  ...String.raw`
    word The and a I NASA CPUs Dr. St. e.g. U.S. p.m. No. it's B2B IV Henry and/or é ß İ
    5 12 1999 007 3.14 1,234 10% $5 $1.2M € 5km 3:45pm 14:05 10-20 1:50,000 1/2 ½ x² 1st '90s 5'11" v2.0 C++ #tag #1
    12/25/2024 2024-12-25 Dec 555-1234 192.168.1.1 12345678901234567890123456 ( ) " ' “ ” … ... — – - , ; : ! ? . / \\
    & @ # % + = < > | ~ ^ ° → © ™ α Привет 北京 こんにちは สวัสดี مرحبا ٣ ５ ﬁ 😀 👨‍👩‍👧 🇬🇧 5️⃣ 𝐇𝐢 ① ❷ Ⅷ № ፴
    me@x.com https://x.com/a?b=1 www.a.org /usr/bin @handle
  `
    .trim()
    .split(/\s+/),
  ...['10 GB', '25 December', 'Henry VIII', '+1 415 555 1212', 'a'.repeat(150), 'e\u0301', '\u0300\u0301'],
  ...['\u200b', '\u0007', '\u00ad', '\ud800', '\udc00', '\n', '\n\n', '  ', '\t'],
];

export function createText(random: () => number): string {
  let text = '';
  for (let left = 1 + Math.floor(random() * 40); left > 0; left--) {
    text += fragments[Math.floor(random() * fragments.length)]! + (random() < 0.7 ? ' ' : '');
  }
  return text;
}
