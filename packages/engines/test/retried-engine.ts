import type { Observable } from 'rxjs'
import { SpeechError } from '../../../src/errors/speech-error.js'
import type { Hypothesis, SegmentPart } from '../src/engine.js'
import { withSegmentRetry, type RetryOptions } from '../src/segment-retry.js'
import { scriptedEngine } from '../../service/src/testing/scripted-engine.js'
import { breakingEngine } from './breaking-engine.js'

export const open = (startMs = 0): SegmentPart => ({ type: 'open', startMs })
/** 300 ms, in which the scripted engine finds one word. */
export const audio = (sampleCount = 2400): SegmentPart => ({ type: 'audio', samples: new Int16Array(sampleCount) })
export const close = (endMs: number): SegmentPart => ({ type: 'close', endMs })

export const brief = (hypothesis: Hypothesis): string => {
  switch (hypothesis.type) {
    case 'partial':
      return `partial ${hypothesis.startMs} ${hypothesis.text}`
    case 'segment':
      return `segment ${hypothesis.startMs}-${hypothesis.endMs} ${hypothesis.text}`
    case 'checked':
      return `checked ${hypothesis.isComplete}`
    case 'progress':
      return `progress ${hypothesis.sampleCount}`
    case 'fault':
      return `fault ${hypothesis.startMs} ${hypothesis.retried ? 'retried' : 'over'}`
  }
}

export const engineOf = (
  breakAtPart: readonly (number | undefined)[],
  options: RetryOptions & { readonly fault?: () => unknown } = {},
) => {
  const broken = breakingEngine(scriptedEngine({ texts: ['one two three'] }), breakAtPart, options.fault)
  return { broken, engine: withSegmentRetry(broken, options) }
}

/** All outputs for the parts, and how the channel ends. */
export const outputsOf = (engine: ReturnType<typeof engineOf>['engine'], part$: Observable<SegmentPart>): string[] => {
  const output: string[] = []
  part$.pipe(engine.recognize()).subscribe({
    next: (value) => output.push(brief(value)),
    error: (error: unknown) => output.push(`error ${error instanceof SpeechError ? error.code : String(error)}`),
    complete: () => output.push('complete'),
  })
  return output
}

export const twoSegments = [open(), audio(), audio(), audio(), close(900), open(1000), audio(), close(1300)]
export const undisturbed = [
  ...['progress 2400', 'partial 0 one', 'progress 2400', 'partial 0 one two'],
  ...['progress 2400', 'partial 0 one two three', 'segment 0-900 one two three'],
  ...['progress 2400', 'partial 1000 one', 'segment 1000-1300 one two three', 'complete'],
]

export const decided = (output: readonly string[]): readonly string[] =>
  output.filter((hypothesis) => hypothesis.startsWith('segment'))
export const samplesOf = (output: readonly string[]): number =>
  output.reduce((sum, hypothesis) => sum + Number(/^progress (\d+)/.exec(hypothesis)?.[1] ?? 0), 0)
