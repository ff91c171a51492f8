import { describe, expect, it } from 'vitest'
import { SegmentMachine, type SegmenterOutput } from '../../src/recognition/segment-machine.js'
import { defaultSegmenterParameters, type SegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { during, runMachine, step, testRateHz, type RunOptions } from './machine-run.js'

const item = during([1000, 2000], [2300, 3000])
const two = during([1000, 2000], [2400, 3000])

const spans = (isSpeech: (ms: number) => boolean, options: RunOptions) =>
  runMachine(isSpeech, options).segments.map(({ startMs, endMs, atMs }) => [startMs, endMs, atMs])

describe('the segment machine, by the vectors of the specification', () => {
  it('1: joins speech over a pause shorter than the trigger, and ends gracefully after the threshold', () => {
    const run = runMachine(item, { untilMs: 14_000 })
    expect(run.segments.map(({ startMs, endMs, atMs }) => [startMs, endMs, atMs])).toEqual([[700, 3400, 3400]])
    expect(run.started).toEqual([{ startMs: 700, atMs: 1060 }])
    expect(run.gracefulAtMs).toEqual([13_000])
  })

  it('2: separates speech at a pause as long as the trigger', () => {
    expect(spans(two, { untilMs: 5000 })).toEqual([
      [700, 2400, 2400],
      [2400, 3400, 3400],
    ])
  })

  it('3: keeps only the post-speech buffer, decided at the trigger', () => {
    expect(spans(two, { untilMs: 5000, parameters: { postSpeechBufferMs: 200 } })).toEqual([
      [700, 2200, 2400],
      [2200, 3200, 3400],
    ])
  })

  it('4: closes at resumed speech when the trigger is shorter than the post-speech buffer', () => {
    expect(spans(item, { untilMs: 5000, parameters: { silenceTriggerMs: 200 } })).toEqual([
      [700, 2300, 2310],
      [2300, 3400, 3400],
    ])
  })

  it('5: cuts at the maximum speech and opens no segment in silence', () => {
    const plain = { untilMs: 9000, parameters: { maxSpeechDurationMs: 1500 }, sample: () => 100 }
    expect(spans(during([1000, 4000]), plain)).toEqual([
      [700, 2500, 2500],
      [2500, 4000, 4000],
    ])
  })

  it('marks the end of a segment that no silence ended', () => {
    const closes = (...run: Parameters<typeof runMachine>) =>
      runMachine(...run).outputs.flatMap((output) => (output.type === 'close' ? [output.isCut === true] : []))
    const speech = during([1000, 4000])
    expect(closes(speech, { untilMs: 9000 })).toEqual([false])
    expect(closes(speech, { untilMs: 3000, finish: true })).toEqual([true])
    expect(closes(speech, { untilMs: 4200, finish: true })).toEqual([true])
    expect(closes(speech, { untilMs: 4500, finish: true, parameters: { postSpeechBufferMs: 800 } })).toEqual([false])
    expect(closes(speech, { untilMs: 9000, interruptAtMs: 2000 })).toEqual([true, false])
    expect(closes(speech, { untilMs: 9000, parameters: { maxSpeechDurationMs: 1500 }, sample: () => 100 })).toEqual([
      true,
      true,
    ])
  })

  it('6: refuses a burst shorter than the onset', () => {
    const run = runMachine(during([500, 540]), { untilMs: 9000 })
    expect(run.outputs).toEqual([])
  })

  it('7: closes at the end of audio when finalized in the trail', () => {
    expect(spans(item, { untilMs: 2100, finish: true })).toEqual([[700, 2100, 2100]])
  })

  it('8: ends gracefully without speech', () => {
    const run = runMachine(during(), { untilMs: 12_000 })
    expect(run.outputs).toEqual([{ type: 'graceful-silence', atMs: 10_000 }])
  })

  it('9: starts the first segment at the first sample when there is less than the pre-speech buffer', () => {
    expect(spans(during([100, 800]), { untilMs: 3000 })).toEqual([[0, 1200, 1200]])
  })
})

describe('the segment machine', () => {
  it('outputs the audio of a segment unchanged and without a gap', () => {
    const [segment] = runMachine(item, { untilMs: 4000 }).segments
    expect(segment?.samples).toEqual(Array.from({ length: 2700 }, (_, index) => 700 + index))
  })

  it('outputs the parts of a segment in order, each once', () => {
    const types = runMachine(item, { untilMs: 4000 }).outputs.map(({ type }) => type)
    expect(types.filter((type) => type !== 'audio')).toEqual(['speech-started', 'open', 'speech-ended', 'close'])
  })

  it('appends the incomplete frame when the audio ends in speech, even without a post-speech buffer', () => {
    const run = runMachine(item, { untilMs: 1507, finish: true, parameters: { postSpeechBufferMs: 0 } })
    expect(run.segments.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([[700, 1507]])
    expect(run.segments[0]?.samples.at(-1)).toBe(1506)
  })

  it('refuses an unconfirmed onset when the audio ends', () => {
    expect(runMachine(item, { untilMs: 1050, finish: true }).outputs).toEqual([])
  })

  it('closes an interrupted segment and continues speech from there without a new onset', () => {
    const run = runMachine(during([1000, 2010]), { untilMs: 3000, interruptAtMs: 2000 })
    expect(run.segments.map(({ startMs, endMs, atMs }) => [startMs, endMs, atMs])).toEqual([
      [700, 2000, 2000],
      [2000, 2410, 2410],
    ])
  })

  it('opens no segment after an interruption in silence', () => {
    expect(spans(during([1000, 2000]), { untilMs: 3000, interruptAtMs: 2000 })).toEqual([[700, 2000, 2000]])
  })

  it('ignores an interruption in silence', () => {
    expect(runMachine(during(), { untilMs: 3000, interruptAtMs: 2000 }).outputs).toEqual([])
  })

  it('ends gracefully once for each silence, and not at all when that is off', () => {
    expect(runMachine(during([12_000, 13_000]), { untilMs: 40_000 }).gracefulAtMs).toEqual([10_000, 23_000])
    expect(
      runMachine(during(), { untilMs: 40_000, parameters: { gracefulSilenceThresholdMs: 0 } }).gracefulAtMs,
    ).toEqual([])
  })

  it('waits for the end of the onset before it ends gracefully', () => {
    expect(runMachine(during([9980, 10_020]), { untilMs: 12_000 }).gracefulAtMs).toEqual([10_030])
    expect(runMachine(during([9980, 10_080]), { untilMs: 12_000 }).gracefulAtMs).toEqual([])
  })
})

describe('speech that may still be noise', () => {
  const run = (isSpeech: (ms: number) => boolean, isDoubtful: (ms: number) => boolean) => {
    const machine = new SegmentMachine(defaultSegmenterParameters, testRateHz)
    for (let ms = 0; ms < 4000; ms += 10) step(machine, isSpeech(ms), new Int16Array(10), isDoubtful(ms))
    return machine.takeOutputs().filter(({ type }) => type !== 'audio')
  }
  const spansOf = (...[isSpeech, isDoubtful]: Parameters<typeof run>) =>
    run(isSpeech, isDoubtful).flatMap((output) => {
      if (output.type === 'speech-started') return [[output.startMs, output.atMs]]
      return output.type === 'speech-ended' ? [[output.startMs, output.endMs]] : []
    })
  const speech = during([1000, 2000])

  it('opens no segment as long as that is so', () => {
    expect(run(speech, () => true)).toEqual([])
  })

  it('begins where it would have begun when the doubt ends', () => {
    expect(spansOf(speech, (ms) => ms < 1250)).toEqual([
      [700, 1260],
      [700, 2400],
    ])
  })

  it('may pause for 200 ms before that', () => {
    expect(spansOf(during([1000, 1100], [1290, 2000]), (ms) => ms < 1300)).toEqual([
      [700, 1310],
      [700, 2400],
    ])
    expect(spansOf(during([1000, 1100], [1310, 2000]), (ms) => ms < 1320)).toEqual([
      [1010, 1370],
      [1010, 2400],
    ])
  })
})

describe('sound before the speech', () => {
  const speech = during([1000, 2000])
  /** The start of the segment, where sound began at a time. */
  const startAfterSound = (soundMs: number, before: (machine: SegmentMachine) => void = () => undefined): number => {
    const machine = new SegmentMachine(defaultSegmenterParameters, testRateHz)
    const outputs: SegmenterOutput[] = []
    for (let ms = 0; ms < 2000; ms += 10) {
      if (ms === 700) before(machine)
      step(machine, speech(ms), new Int16Array(10), false, Math.max(0, (ms + 10 - soundMs) / 10))
      outputs.push(...machine.takeOutputs())
    }
    const starts = outputs.flatMap((output) => (output.type === 'open' ? [output.startMs] : []))
    return starts.at(-1) ?? NaN
  }

  it('is in its segment, with the pre-speech buffer before it', () => {
    expect([1000, 990, 800, 600].map((soundMs) => startAfterSound(soundMs))).toEqual([700, 690, 500, 300])
    expect(startAfterSound(1030)).toBe(700)
  })

  it('belongs to one segment only', () => {
    const speakBefore = (machine: SegmentMachine): void => {
      for (let frame = 0; frame < 10; frame += 1) step(machine, true, new Int16Array(10))
      machine.interrupt()
    }
    // It ends at 800 ms, which is 700 ms in the time of the speech.
    expect(startAfterSound(600, speakBefore)).toBe(800)
  })
})

describe('a sentence that is complete and cannot continue', () => {
  const always = () => true
  const checks = (isSpeech: (ms: number) => boolean, options: RunOptions): number[] => {
    const asked: number[] = []
    const isComplete = (positionMs: number): boolean => {
      asked.push(positionMs)
      return options.isComplete?.(positionMs) ?? false
    }
    runMachine(isSpeech, { ...options, isComplete })
    return asked
  }

  it('closes its segment after the silence for complete sentences', () => {
    expect(spans(item, { untilMs: 5000, isComplete: always })).toEqual([
      [700, 2120, 2120],
      [2120, 3120, 3120],
    ])
  })

  it('is asked for every 50 ms of silence until the trigger, and waits for the trigger otherwise', () => {
    expect(checks(item, { untilMs: 5000 })).toEqual([2120, 2170, 2220, 2270, 3120, 3170, 3220, 3270, 3320, 3370])
    expect(spans(item, { untilMs: 5000, isComplete: () => false })).toEqual([[700, 3400, 3400]])
    expect(spans(item, { untilMs: 5000, isComplete: (ms) => ms === 3220 })).toEqual([[700, 3220, 3220]])
  })

  it('keeps the post-speech buffer if that is shorter', () => {
    expect(spans(item, { untilMs: 5000, isComplete: always, parameters: { postSpeechBufferMs: 50 } })).toEqual([
      [700, 2050, 2120],
      [2050, 3050, 3120],
    ])
  })

  it('ends the wait for a longer post-speech buffer, too', () => {
    const parameters = { silenceTriggerMs: 100, postSpeechBufferMs: 600 }
    expect(spans(during([1000, 2000]), { untilMs: 5000, isComplete: always, parameters })).toEqual([[700, 2120, 2120]])
  })

  it('loses no sample between two sentences, and repeats none', () => {
    const close = runMachine(during([1000, 2000], [2130, 3000]), { untilMs: 5000, isComplete: always })
    expect(close.segments.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [700, 2120],
      [2120, 3120],
    ])
    expect(close.segments.flatMap(({ samples }) => samples)).toEqual(
      Array.from({ length: 2420 }, (_, index) => 700 + index),
    )
  })

  it('is asked for only with the whole speech, so not while a forced cut holds audio back', () => {
    const recording = { audioSplitter: 'audio-segmenter' } as const
    expect(checks(item, { untilMs: 5000, parameters: recording, isComplete: always })).toEqual([])
    const limited = { maxSpeechDurationMs: 1200 } as const
    expect(checks(during([1000, 2100]), { untilMs: 5000, parameters: limited, isComplete: always })).toEqual([])
  })

  it('is not checked with 0, nor by an engine without checks', () => {
    expect(checks(item, { untilMs: 5000, parameters: { completeSilenceMs: 0 } })).toEqual([])
    expect(runMachine(item, { untilMs: 5000 }).outputs.some(({ type }) => type === 'check')).toBe(false)
  })

  it('reports the pause of a drain and the graceful silence as after any other segment', () => {
    const machine = new SegmentMachine(defaultSegmenterParameters, testRateHz, true)
    const frame = new Int16Array(10)
    for (let ms = 0; ms < 100; ms += 10) step(machine, true, frame)
    machine.drain()
    for (let ms = 0; ms < 120; ms += 10) step(machine, false, frame)
    expect(machine.isAsking).toBe(true)
    machine.answer(true)
    expect(machine.takeOutputs().map(({ type }) => type)).toContain('pause')
    expect(runMachine(item, { untilMs: 14_000, isComplete: always }).gracefulAtMs).toEqual([13_000])
  })
})

describe('a long silence', () => {
  const silences = (isSpeech: (ms: number) => boolean, options: RunOptions) =>
    runMachine(isSpeech, {
      ...options,
      parameters: { gracefulSilenceThresholdMs: 0, ...options.parameters },
    }).silences.map(({ startMs, endMs, atMs }) => [startMs, endMs, atMs])

  it('is reported after 30 s, up to the audio that a later onset may need, and again after 30 s more', () => {
    expect(silences(during(), { untilMs: 29_990 })).toEqual([])
    expect(silences(during(), { untilMs: 30_000 })).toEqual([[0, 29_640, 30_000]])
    expect(silences(during(), { untilMs: 65_000 })).toEqual([
      [0, 29_640, 30_000],
      [29_640, 59_640, 60_000],
    ])
  })

  it('counts from the end of the last segment', () => {
    const speech = during([20_000, 21_000])
    expect(silences(speech, { untilMs: 51_390 })).toEqual([])
    expect(silences(speech, { untilMs: 51_400 })).toEqual([[21_400, 51_040, 51_400]])
  })

  it('is not reported for shorter pauses', () => {
    const turns = Array.from({ length: 20 }, (_, turn) => [turn * 30_000, turn * 30_000 + 500] as const)
    expect(silences(during(...turns), { untilMs: 600_000 })).toEqual([])
  })

  it('excludes the pre-speech buffer and the onset', () => {
    const parameters = { preSpeechBufferMs: 5000, onsetMs: 200 }
    expect(silences(during(), { untilMs: 30_000, parameters })).toEqual([[0, 24_800, 30_000]])
  })

  it('waits while an onset is open, and is reported only if that is not confirmed', () => {
    expect(silences(during([29_980, 30_020]), { untilMs: 32_000 })).toEqual([[0, 29_670, 30_030]])
    const confirmed = runMachine(during([29_980, 30_080]), {
      untilMs: 32_000,
      parameters: { gracefulSilenceThresholdMs: 0 },
    })
    expect(confirmed.silences).toEqual([])
    expect(confirmed.started).toEqual([{ startMs: 29_680, atMs: 30_040 }])
  })

  it('ends no later than the start of a segment that follows immediately', () => {
    const run = runMachine(during([30_000, 31_000]), { untilMs: 32_000, parameters: { gracefulSilenceThresholdMs: 0 } })
    expect(run.silences).toEqual([{ startMs: 0, endMs: 29_640, atMs: 30_000 }])
    expect(run.segments.map(({ startMs }) => startMs)).toEqual([29_700])
  })

  it('is not overlapped by a longer pre-speech buffer that is set afterwards', () => {
    const parameters = { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 0 }
    const machine = new SegmentMachine(parameters, testRateHz)
    const frame = new Int16Array(10)
    for (let at = 0; at < 30_000; at += 10) step(machine, false, frame)
    expect(machine.takeOutputs()).toEqual([{ type: 'silence', startMs: 0, endMs: 29_640 }])
    machine.setParameters({ ...parameters, preSpeechBufferMs: 5000 })
    for (let at = 0; at < 60; at += 10) step(machine, true, frame)
    expect(machine.takeOutputs()).toContainEqual({ type: 'open', startMs: 29_640 })
  })
})

describe('the forced cut', () => {
  const limited = { maxSpeechDurationMs: 2000 }

  it('uses a gap of 100 ms from 80 % of the maximum speech on', () => {
    const speech = during([1000, 2650], [2760, 3500])
    expect(spans(speech, { untilMs: 6000, parameters: limited })).toEqual([
      [700, 2750, 2750],
      [2750, 3900, 3900],
    ])
  })

  it('ignores such a gap before that', () => {
    const speech = during([1000, 2000], [2110, 2200])
    expect(spans(speech, { untilMs: 6000, parameters: limited })).toEqual([[700, 2600, 2600]])
  })

  it('cuts after the quietest frame of the last 300 ms and loses no audio', () => {
    const sample = (position: number): number => (position >= 2800 && position < 2810 ? 10 : 1000 + (position % 7))
    const run = runMachine(during([1000, 4000]), { untilMs: 6000, parameters: limited, sample })
    expect(run.segments.map(({ startMs, endMs, atMs }) => [startMs, endMs, atMs])).toEqual([
      [700, 2810, 3000],
      [2810, 4400, 4400],
    ])
    expect(run.segments.flatMap(({ samples }) => samples)).toEqual(
      Array.from({ length: 3700 }, (_, index) => sample(700 + index)),
    )
  })

  it('looks no further back than 300 ms for the quietest frame', () => {
    const sample = (position: number): number => (position >= 2600 && position < 2700 ? 10 : 1000)
    expect(spans(during([1000, 4000]), { untilMs: 3100, parameters: limited, sample })).toEqual([[700, 3000, 3000]])
  })

  it('keeps the post-speech buffer when it cuts in a gap', () => {
    const parameters = { ...limited, postSpeechBufferMs: 40 }
    expect(spans(during([1000, 2650], [2750, 4000]), { untilMs: 6000, parameters })).toEqual([
      [700, 2690, 2750],
      [2690, 4040, 4290],
    ])
  })

  it('never leaves a segment without audio, although its quietest gap is the silence that it begins with', () => {
    const speech = during([10, 490], [1020, 1030], [1040, 1110], [1290, 1500])
    const parameters: Partial<SegmenterParameters> = {
      ...{
        audioSplitter: 'audio-segmenter',
        preSpeechBufferMs: 0,
        postSpeechBufferMs: 0,
        maxSpeechDurationMs: 1001,
        silenceTriggerMs: 531,
      },
      ...{ completeSilenceMs: 0, gracefulSilenceThresholdMs: 0, onsetMs: 0 },
    }
    const sample = (positionMs: number): number => (positionMs * 7919) % 997
    const lengths = runMachine(speech, { untilMs: 1500, finish: true, parameters, sample }).segments.map(
      ({ startMs, endMs }) => endMs - startMs,
    )
    expect(lengths.length).toBeGreaterThan(1)
    expect(Math.min(...lengths)).toBeGreaterThan(0)
  })
})

describe('the audio segmenter', () => {
  const parameters = { audioSplitter: 'audio-segmenter' } as const

  it('outputs the same segments as the causal machine for short speech', () => {
    expect(spans(two, { untilMs: 5000, parameters })).toEqual([
      [700, 2400, 2400],
      [2400, 3400, 3400],
    ])
  })

  it('outputs no audio before a segment is decided', () => {
    expect(runMachine(item, { untilMs: 3390, parameters }).outputs.map(({ type }) => type)).toEqual([
      'speech-started',
      'open',
    ])
  })

  it('cuts a long run at the quietest gap, padded on both sides', () => {
    const speech = during([1000, 11_000], [11_300, 21_000], [21_300, 40_000])
    const sample = (position: number): number => (position >= 11_000 && position < 11_300 ? 20 : 40)
    const padded = { ...parameters, preSpeechBufferMs: 100, postSpeechBufferMs: 120 }
    expect(spans(speech, { untilMs: 42_000, parameters: padded, sample })).toEqual([
      [900, 11_120, 31_000],
      [11_200, 40_120, 40_400],
    ])
  })

  it('shares a gap that is shorter than the padding', () => {
    const speech = during([1000, 11_000], [11_300, 40_000])
    expect(spans(speech, { untilMs: 42_000, parameters })).toEqual([
      [700, 11_150, 31_000],
      [11_150, 40_400, 40_400],
    ])
  })

  it('uses the quietest frame instead of a gap shorter than 98 ms', () => {
    const speech = during([1000, 11_000], [11_090, 40_000])
    const sample = (position: number): number => (position >= 25_000 && position < 25_010 ? 20 : 40)
    expect(spans(speech, { untilMs: 42_000, parameters, sample })).toEqual([
      [700, 25_010, 31_000],
      [25_010, 40_400, 40_400],
    ])
  })

  it('respects a shorter maximum speech', () => {
    const run = spans(during([1000, 11_000]), {
      untilMs: 12_000,
      parameters: { ...parameters, maxSpeechDurationMs: 5000 },
      sample: () => 40,
    })
    expect(run).toEqual([
      [700, 6000, 6000],
      [6000, 11_000, 11_000],
    ])
  })
})

describe('the audio around a segment', () => {
  const partsOf = (parameters: Partial<SegmenterParameters>, contextMs: number) => {
    const machine = new SegmentMachine({ ...defaultSegmenterParameters, ...parameters }, testRateHz, false, contextMs)
    const hop = (10 * testRateHz) / 1000
    const outputs: SegmenterOutput[] = []
    for (let now = 0; now < 5000; now += 10) {
      const frame = Int16Array.from({ length: hop }, (_none, index) => (now * testRateHz) / 1000 + index)
      step(machine, two(now), frame)
      outputs.push(...machine.takeOutputs())
    }
    return outputs.flatMap((output) =>
      output.type === 'open'
        ? [['before', output.before && [output.before[0], output.before.at(-1)]]]
        : output.type === 'close'
          ? [['after', output.after && [output.after[0], output.after.at(-1)]]]
          : [],
    )
  }

  it('is what precedes it, but nothing of the segment before, and what has arrived behind it', () => {
    expect(partsOf({ preSpeechBufferMs: 200, postSpeechBufferMs: 100 }, 250)).toEqual([
      ['before', [550, 799]],
      ['after', [2100, 2349]],
      ['before', [2100, 2199]],
      ['after', [3100, 3349]],
    ])
  })

  it('is not part of it for an engine that takes none', () => {
    expect(partsOf({}, 0)).toEqual([
      ['before', undefined],
      ['after', undefined],
      ['before', undefined],
      ['after', undefined],
    ])
  })
})
