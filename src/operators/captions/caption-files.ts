import {
  asyncScheduler,
  concat,
  defer,
  EMPTY,
  filter,
  map,
  mergeMap,
  startWith,
  Subject,
  takeUntil,
  tap,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs'
import { longTimer } from '../../kernel/timers.js'
import { checkOptions, numberUpToInfinity, optionsOf, schedulerValue, wholeNumber } from '../../protocol/validation.js'
import { emitAtEnd } from '../emit-at-end.js'
import type { CaptionCue } from './caption-cue.js'

/** How captions are written to a file. */
export interface CaptionFileOptions {
  /**
   * The number of channels. With more than one, cues are sorted by their start, as a file should have them, and each
   * waits until every channel has a cue that starts no earlier, or for the end. @default 1, which writes cues when they
   * are final
   */
  readonly channels?: number | undefined
  /**
   * With more than one channel: how long a cue waits for those of the others, in milliseconds, so that a channel on which
   * nobody speaks does not hold it back. One that comes later is moved to the start of the cue before it. @default Infinity
   */
  readonly maxWaitMs?: number | undefined
  /** The clock of `maxWaitMs`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const captionFileOptions = optionsOf<CaptionFileOptions>()(
  {},
  { channels: wholeNumber({ min: 1, max: 64 }), maxWaitMs: numberUpToInfinity(0), scheduler: schedulerValue },
)

/**
 * Writes captions as a SubRip file (`.srt`): one block for each final cue, numbered from 1. The concatenated blocks are
 * the file.
 *
 * The format has no speakers and no escapes: the name precedes the text (`Agent: `), and the text is unchanged except
 * for `-->`, which would be read as times.
 * - Ignores `live` and `withdrawn` cues. Order: see `channels`.
 * - Completion and error: writes the waiting cues first. Unsubscription: discards them.
 * - Buffering: none; with `channels` the waiting cues, 10 000 at most, for `maxWaitMs` each.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * session$.pipe(toCaptions(), toSrt()).subscribe((block) => file.write(block))
 * ```
 */
export const toSrt = (options: CaptionFileOptions = {}): OperatorFunction<CaptionCue, string> => {
  const ordered = finalCues(options)
  return (cues$) =>
    cues$.pipe(
      ordered,
      map((cue, at) => `${at + 1}\n${timeLine(cue, ',')}\n${plain(label(cue) + cue.text)}\n\n`),
    )
}

const label = ({ speaker }: CaptionCue): string => (speaker === undefined ? '' : `${speaker.replace(/\s+/gu, ' ')}: `)

const plain = (text: string): string => text.replaceAll('-->', '->')

/**
 * Writes captions as a WebVTT file (W3C WebVTT section 4): the header at once, then one block for each final cue. The
 * concatenated blocks are the file.
 *
 * A cue has its number, its times and its lines; the speaker is a voice tag (`<v Agent>`).
 * - Ignores `live` and `withdrawn` cues. Order: see `channels`.
 * - Completion and error: writes the waiting cues first. Unsubscription: discards them.
 * - Buffering: none; with `channels` the waiting cues, 10 000 at most, for `maxWaitMs` each.
 *
 * Throws `invalid-options` when it is called.
 *
 * @example
 * ```ts
 * session$.pipe(toCaptions(), toWebVtt()).subscribe((block) => file.write(block))
 * ```
 */
export const toWebVtt = (options: CaptionFileOptions = {}): OperatorFunction<CaptionCue, string> => {
  const ordered = finalCues(options)
  return (cues$) =>
    cues$.pipe(
      ordered,
      map((cue, at) => `${at + 1}\n${timeLine(cue, '.')}\n${voice(cue)}${escaped(cue.text)}\n\n`),
      startWith('WEBVTT\n\n'),
    )
}

const voice = ({ speaker }: CaptionCue): string =>
  speaker === undefined ? '' : `<v ${escaped(speaker).replace(/\s+/gu, ' ')}>`

/** Also removes `-->`, which a line must not contain. */
const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

/** `hh:mm:ss` and milliseconds after `mark`; hours have as many digits as needed (W3C WebVTT section 4.1, SubRip). */
const clockText = (ms: number, mark: '.' | ','): string => {
  const whole = Math.max(0, Math.round(ms))
  const two = (value: number): string => String(value).padStart(2, '0')
  const seconds = Math.floor(whole / 1000)
  const clock = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':')
  return `${clock}${mark}${String(whole % 1000).padStart(3, '0')}`
}

/** The time line of a cue, which lasts at least a millisecond. */
const timeLine = ({ startMs, endMs }: { readonly startMs: number; readonly endMs: number }, mark: '.' | ',') =>
  `${clockText(startMs, mark)} --> ${clockText(Math.max(Math.round(startMs) + 1, endMs), mark)}`

/** The number of cues that can wait before the earliest is written. About six hours of speech. */
const maxWaiting = 10_000

/** The final cues in their order; an error follows those that wait. Throws `invalid-options`. */
const finalCues = (options: CaptionFileOptions): OperatorFunction<CaptionCue, CaptionCue> => {
  const { channels = 1, maxWaitMs = Infinity, scheduler = asyncScheduler } = checkOptions(captionFileOptions, options)
  return (cues$) => {
    const final$ = cues$.pipe(filter(({ state }) => state === 'final'))
    return channels === 1 ? final$ : sorted(final$, channels, (): Observable<void> => longTimer(maxWaitMs, scheduler))
  }
}

const sorted = (
  final$: Observable<CaptionCue>,
  channels: number,
  wait: () => Observable<void>,
): Observable<CaptionCue> =>
  defer(() => {
    const waiting: CaptionCue[] = []
    const ended$ = new Subject<void>()
    /** The time up to which the cues of each channel are known. */
    const reached = new Map<number, number>()
    let writtenMs = 0
    const knownMs = (): number => (reached.size < channels ? -Infinity : Math.min(...reached.values()))
    function* due(untilMs: number): Generator<CaptionCue> {
      while (waiting.length > 0 && ((waiting[0]?.startMs ?? 0) <= untilMs || waiting.length > maxWaiting)) {
        const [cue] = waiting.splice(0, 1)
        if (cue === undefined) continue
        writtenMs = Math.max(writtenMs, cue.startMs)
        const lateMs = writtenMs - cue.startMs
        yield lateMs === 0 ? cue : { ...cue, startMs: writtenMs, endMs: cue.endMs + lateMs }
      }
    }
    const dueInTime = (cue: CaptionCue): Observable<CaptionCue> =>
      defer(() => (waiting.includes(cue) ? wait() : EMPTY)).pipe(
        mergeMap(() => due(cue.startMs)),
        takeUntil(ended$),
      )
    return final$.pipe(
      tap({ complete: () => ended$.next() }),
      mergeMap((cue) => {
        reached.set(cue.channel, Math.max(cue.startMs, reached.get(cue.channel) ?? 0))
        const after = waiting.findLastIndex(({ startMs }) => startMs <= cue.startMs)
        waiting.splice(after + 1, 0, cue)
        return concat(due(knownMs()), dueInTime(cue))
      }),
      emitAtEnd(() => due(Infinity)),
    )
  })
