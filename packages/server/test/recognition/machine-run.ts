import { type SegmenterOutput, SegmentMachine } from '../../src/recognition/segment-machine.js'
import { defaultSegmenterParameters, type SegmenterParameters } from '../../src/recognition/segmenter-parameters.js'

/** One sample a millisecond, so that a position is a time; the sample's value is its position. */
export const testRateHz = 1000
const hop = 10

export interface Segment {
  readonly startMs: number
  readonly endMs: number
  /** When the segment was closed. */
  readonly atMs: number
  readonly samples: readonly number[]
}

export interface MachineRun {
  readonly segments: readonly Segment[]
  readonly started: readonly { readonly startMs: number; readonly atMs: number }[]
  readonly gracefulAtMs: readonly number[]
  readonly silences: readonly { readonly startMs: number; readonly endMs: number; readonly atMs: number }[]
  readonly outputs: readonly SegmenterOutput[]
}

const emptyRun = () => ({
  segments: [] as Segment[],
  started: [] as { startMs: number; atMs: number }[],
  gracefulAtMs: [] as number[],
  silences: [] as { startMs: number; endMs: number; atMs: number }[],
})

/** Reads the output of a segmenter, with the audio time of each call. */
export const collectRun = (timed: readonly (readonly [number, readonly SegmenterOutput[]])[]): MachineRun => {
  const run = emptyRun()
  let open: { startMs: number; samples: number[] } | undefined
  for (const [atMs, outputs] of timed) {
    for (const output of outputs) {
      if (output.type === 'open') {
        if (open !== undefined) throw new Error('a segment opens inside another')
        open = { startMs: output.startMs, samples: [] }
      } else if (output.type === 'audio') {
        if (open === undefined) throw new Error('audio outside a segment')
        open.samples.push(...output.samples)
      } else if (output.type === 'close') {
        if (open === undefined) throw new Error('a close without an open')
        run.segments.push({ ...open, endMs: output.endMs, atMs })
        open = undefined
      } else if (output.type === 'speech-started') run.started.push({ startMs: output.startMs, atMs: output.atMs })
      else if (output.type === 'silence') run.silences.push({ startMs: output.startMs, endMs: output.endMs, atMs })
      else if (output.type === 'graceful-silence') run.gracefulAtMs.push(output.atMs)
    }
  }
  return { ...run, outputs: timed.flatMap(([, outputs]) => outputs) }
}

export interface RunOptions {
  readonly parameters?: Partial<SegmenterParameters>
  readonly untilMs: number
  readonly finish?: boolean
  /** Loudness by position, for the positions of forced cuts; by default the sample's value is its position. */
  readonly sample?: (positionMs: number) => number
  readonly interruptAtMs?: number
  /** The answers of the engine to its checks, by the position of each; without it the engine is not asked. */
  readonly isComplete?: (positionMs: number) => boolean
}

/** Gives a machine one frame with its verdict. */
export const step = (
  machine: SegmentMachine,
  isSpeech: boolean,
  frame: Int16Array,
  isDoubtful = false,
  soundFrames = 0,
): void => {
  machine.add(frame)
  machine.step(isSpeech, frame, isDoubtful, soundFrames)
}

/** Steps a machine by the verdict for each millisecond's frame, draining after every frame. */
export const runMachine = (isSpeech: (frameStartMs: number) => boolean, options: RunOptions): MachineRun => {
  const { isComplete } = options
  const parameters = { ...defaultSegmenterParameters, ...options.parameters }
  const machine = new SegmentMachine(parameters, testRateHz, isComplete !== undefined)
  const timed: (readonly [number, readonly SegmenterOutput[]])[] = []
  const sample = options.sample ?? ((position: number) => position % 32_768)
  const frame = new Int16Array(hop)
  let now = 0
  for (; now + hop <= options.untilMs;) {
    for (let index = 0; index < hop; index += 1) frame[index] = sample(now + index)
    step(machine, isSpeech(now), frame)
    now += hop
    timed.push([now, machine.takeOutputs()])
    if (machine.isAsking) {
      machine.answer(isComplete?.(now) ?? false)
      timed.push([now, machine.takeOutputs()])
    }
    if (options.interruptAtMs === now) timed.push([now, machine.interrupt()])
  }
  if (options.finish) {
    machine.add(Int16Array.from({ length: options.untilMs - now }, (_, index) => sample(now + index)))
    timed.push([options.untilMs, machine.finish()])
  }
  return collectRun(timed)
}

/** True inside any of the stretches `[from, to)`, in milliseconds. */
export const during =
  (...stretches: readonly (readonly [number, number])[]) =>
  (positionMs: number): boolean =>
    stretches.some(([from, to]) => positionMs >= from && positionMs < to)
