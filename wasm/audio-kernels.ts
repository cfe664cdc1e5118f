// The loops over samples, in AssemblyScript with SIMD: `npm run gen` compiles them to gen/audio-kernels.wasm, and
// src/audio/kernels.ts calls them. They keep no state and allocate nothing: each works on the addresses that it is given.
// They take several samples at a time and the rest one by one with the same arithmetic, so that no result depends on where
// a block ends. An address may be any; the output may overwrite the input where both begin at the same address.

/** The host's own, so that the limiter's curve has the bits of JavaScript's. */
declare function tanh(x: f64): f64;

/** 16-bit samples times `factor`, in double precision, as floats. */
export function scale(from: usize, to: usize, count: i32, factor: f64): void {
  const factors = f64x2.splat(factor);
  for (; count >= 4; count -= 4) {
    const four = v128.load16x4_s(from);
    const low = f32x4.demote_f64x2_zero(f64x2.mul(f64x2.convert_low_i32x4_s(four), factors));
    const upper = i64x2.shuffle(four, four, 1, 1);
    const high = f32x4.demote_f64x2_zero(f64x2.mul(f64x2.convert_low_i32x4_s(upper), factors));
    v128.store(to, i64x2.shuffle(low, high, 0, 2));
    from += 8;
    to += 16;
  }
  for (; count > 0; count--) {
    store<f32>(to, <f32>(<f64>load<i16>(from) * factor));
    from += 2;
    to += 4;
  }
}

/**
 * Writes `count` outputs of a polyphase filter, the first at `phase`; `taps` weights a row, a multiple of 8. Returns by how
 * many inputs the filter has advanced.
 */
export function filter(
  from: usize,
  weights: usize,
  to: usize,
  count: i32,
  taps: i32,
  up: i32,
  down: i32,
  phase: i32,
): i32 {
  const rowBytes = (<usize>taps) << 2;
  const start = from;
  for (const end = to + ((<usize>count) << 2); to < end; to += 4) {
    let x = from;
    let w = weights + <usize>phase * rowBytes;
    let even = f32x4.splat(0);
    let odd = f32x4.splat(0);
    for (const last = x + rowBytes; x < last; x += 32) {
      even = f32x4.add(even, f32x4.mul(v128.load(x), v128.load(w)));
      odd = f32x4.add(odd, f32x4.mul(v128.load(x, 16), v128.load(w, 16)));
      w += 32;
    }
    const four = f32x4.add(even, odd);
    const two = f32x4.add(four, i64x2.shuffle(four, four, 1, 1));
    store<f32>(to, f32x4.extract_lane(two, 0) + f32x4.extract_lane(two, 1));
    phase += down;
    while (phase >= up) {
      phase -= up;
      from += 4;
    }
  }
  return <i32>((from - start) >> 2);
}

/**
 * Copies, and bends what is above the knee: knee + range * tanh(over / range). Returns 1 where there was anything; NaN is not.
 */
export function limit(from: usize, to: usize, count: i32, knee: f64, range: f64): i32 {
  // The largest float that is not above the knee.
  let kneeFloat = <f32>knee;
  if (<f64>kneeFloat > knee) kneeFloat = reinterpret<f32>(reinterpret<i32>(kneeFloat) - 1);
  const knees = f32x4.splat(kneeFloat);
  let isOver = 0;
  for (; count >= 4; count -= 4) {
    const four = v128.load(from);
    v128.store(to, four);
    if (v128.any_true(f32x4.gt(f32x4.abs(four), knees))) {
      isOver = 1;
      for (let lane: usize = 0; lane < 16; lane += 4) bend(to + lane, knee, range);
    }
    from += 16;
    to += 16;
  }
  for (; count > 0; count--) {
    const sample = load<f32>(from);
    store<f32>(to, sample);
    if (abs<f32>(sample) > kneeFloat) {
      isOver = 1;
      bend(to, knee, range);
    }
    from += 4;
    to += 4;
  }
  return isOver;
}

function bend(at: usize, knee: f64, range: f64): void {
  const sample = <f64>load<f32>(at);
  const over = abs<f64>(sample) - knee;
  if (over > 0) store<f32>(at, <f32>copysign<f64>(knee + range * tanh(over / range), sample));
}

/** Clips at full scale, +-1; NaN becomes silence. */
export function clamp(from: usize, to: usize, count: i32): void {
  for (; count >= 4; count -= 4) {
    v128.store(to, clamped(v128.load(from)));
    from += 16;
    to += 16;
  }
  for (; count > 0; count--) {
    store<f32>(to, f32x4.extract_lane(clamped(f32x4.splat(load<f32>(from))), 0));
    from += 4;
    to += 4;
  }
}

function clamped(four: v128): v128 {
  const numbers = v128.and(four, f32x4.eq(four, four));
  return f32x4.min(f32x4.max(numbers, f32x4.splat(-1)), f32x4.splat(1));
}

/** To 16 bits: rounds to nearest, halves up, and clips at full scale; NaN becomes silence. */
export function round(from: usize, to: usize, count: i32): void {
  for (; count >= 8; count -= 8) {
    v128.store(to, i16x8.narrow_i32x4_s(rounded(v128.load(from)), rounded(v128.load(from, 16))));
    from += 32;
    to += 16;
  }
  for (; count > 0; count--) {
    const one = rounded(f32x4.splat(load<f32>(from)));
    store<i16>(to, i16x8.extract_lane_s(i16x8.narrow_i32x4_s(one, one), 0));
    from += 4;
    to += 2;
  }
}

// Adding a half before the floor would round the largest float below a half up to 1.
function rounded(four: v128): v128 {
  const scaled = f32x4.mul(four, f32x4.splat(32768));
  const floor = f32x4.floor(scaled);
  const isUp = f32x4.ge(f32x4.sub(scaled, floor), f32x4.splat(0.5));
  return i32x4.sub(i32x4.trunc_sat_f32x4_s(floor), isUp);
}

/** How many 16-bit samples are in frames with a peak above `quiet`; the last frame may be short. */
export function countAudible(from: usize, count: i32, frame: i32, quiet: i32): i32 {
  let audible = 0;
  for (let at = 0; at < count; at += frame) {
    const length = min<i32>(frame, count - at);
    if (peak(from + ((<usize>at) << 1), length) > quiet) audible += length;
  }
  return audible;
}

/** How many 16-bit samples are of that size or larger. */
export function countAtLeast(from: usize, count: i32, size: i32): i32 {
  let sum = 0;
  // A lane counts to 65535 at most.
  for (; count >= 8; ) {
    let counts = i16x8.splat(0);
    const sizes = i16x8.splat(<i16>size);
    for (let rounds = 0; count >= 8 && rounds < 65535; rounds++, count -= 8, from += 16)
      counts = i16x8.sub(counts, i16x8.ge_u(i16x8.abs(v128.load(from)), sizes));
    const sums = i32x4.extadd_pairwise_i16x8_u(counts);
    sum +=
      i32x4.extract_lane(sums, 0) +
      i32x4.extract_lane(sums, 1) +
      i32x4.extract_lane(sums, 2) +
      i32x4.extract_lane(sums, 3);
  }
  for (; count > 0; count--, from += 2) sum += i32(abs<i32>(load<i16>(from)) >= size);
  return sum;
}

/** The largest size of 16-bit samples: 0 to 32768. */
function peak(from: usize, count: i32): i32 {
  let peaks = i16x8.splat(0);
  for (; count >= 8; count -= 8) {
    peaks = i16x8.max_u(peaks, i16x8.abs(v128.load(from)));
    from += 16;
  }
  peaks = i16x8.max_u(peaks, i64x2.shuffle(peaks, peaks, 1, 1));
  peaks = i16x8.max_u(peaks, i32x4.shuffle(peaks, peaks, 1, 1, 3, 3));
  let largest = <i32>max<u16>(i16x8.extract_lane_u(peaks, 0), i16x8.extract_lane_u(peaks, 1));
  for (; count > 0; count--) {
    largest = max<i32>(largest, abs<i32>(load<i16>(from)));
    from += 2;
  }
  return largest;
}
