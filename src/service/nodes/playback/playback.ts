import {
  concat,
  concatMap,
  defer,
  EMPTY,
  finalize,
  from,
  ignoreElements,
  interval,
  merge,
  mergeMap,
  of,
  startWith,
  Subject,
  switchMap,
  takeUntil,
  takeWhile,
  tap,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { encodeSamples } from '../../../audio/codec.js'
import type { AudioFormat } from '../../../audio/format.js'
import type { Sound } from '../../../audio/sound.js'
import { SpeechError } from '../../../errors/speech-error.js'
import { eventName } from '../../../protocol/dataflow-events.js'
import { allChannels, matchesPattern } from '../core/events.js'
import type { Node, NodeContext, NodeItem } from '../core/node.js'
import type { PlayerOptions } from './player-options.js'
import { eventItem } from '../core/node-steps.js'

/** Audio goes out in packets of this length (service.md 4.1 rule 5 suggests it for the other direction). */
const packetMs = 20
/** What a stalled process catches up on at once; the rest is later by as much. */
const maxLatePackets = 10

type Ending = 'completed' | 'interrupted' | 'dropped' | 'finalized'

/**
 * Plays a sound when an event comes whose name fits one of `on`, and at the start with `atStart` (default where `on` is
 * left out): audio in packets of 20 ms in real time, by one timer that runs only while something plays. `Prompt Started`
 * and `Prompt Ended` {Reason, DurationMsec} are told about it. Up to `maxQueue` (default 4) sounds wait for the one that
 * plays; one too many ends as `dropped`. With `bargeIn`, `Speech Started` ends what plays as `interrupted`, and what waits
 * with it. When the input completes nothing new is played; what plays and waits may go on for `flushMs` (default 5000)
 * and ends as `finalized` then.
 */
export const playback = (sound: Sound, options: PlayerOptions, context: NodeContext): Node => {
  const { on, atStart = on === undefined, bargeIn = false, flushMs = 5000 } = options
  const { node, scheduler, outputs } = context
  const format = outputs['audio']
  if (format === undefined) throw new SpeechError('internal', 'The node has no audio port.')
  return (input$) =>
    defer(() => {
      const playlist = new Playlist(node, sound, format, scheduler, options.maxQueue ?? 4)
      const react = (item: NodeItem): Observable<NodeItem> => {
        if (item.type !== 'event') return EMPTY
        const { name } = item.event
        if (bargeIn && name === eventName.speechStarted) playlist.stop('interrupted')
        return on?.some((pattern) => matchesPattern(pattern, name)) === true ? playlist.want() : EMPTY
      }
      const over$ = new Subject<void>()
      const done$ = new Subject<void>()
      const feed$ = concat(atStart ? defer(() => playlist.want()) : EMPTY, input$.pipe(mergeMap(react))).pipe(
        tap({
          complete: () => {
            over$.next()
            playlist.close()
          },
        }),
      )
      const playing$ = playlist.playing$.pipe(
        tap({
          complete: () => {
            done$.next()
          },
        }),
      )
      const deadline$ = over$.pipe(
        switchMap(() => timer(flushMs, scheduler)),
        tap(() => {
          playlist.stop('finalized')
        }),
        ignoreElements(),
        takeUntil(done$),
      )
      return merge(deadline$, playing$, feed$)
    })
}

/** What plays and what waits. Sounds that were asked for before a stop are of an earlier round, and are passed over. */
class Playlist {
  readonly #wanted$ = new Subject<number>()
  readonly #stop$ = new Subject<void>()
  #round = 0
  #pending = 0
  #stopReason: Ending = 'completed'

  constructor(
    private readonly node: string,
    private readonly sound: Sound,
    private readonly format: AudioFormat,
    private readonly scheduler: SchedulerLike,
    private readonly maxQueue: number,
  ) {}

  /** Completes when the list was closed and has been played. */
  get playing$(): Observable<NodeItem> {
    return this.#wanted$.pipe(concatMap((round) => this.#play(round)))
  }

  want(): Observable<NodeItem> {
    if (this.#pending > this.maxQueue) return of(this.#ended('dropped', 0))
    this.#pending += 1
    this.#wanted$.next(this.#round)
    return EMPTY
  }

  stop(reason: Ending): void {
    this.#round += 1
    this.#stopReason = reason
    this.#stop$.next()
  }

  close(): void {
    this.#wanted$.complete()
  }

  #play(round: number): Observable<NodeItem> {
    const isCurrent = (): boolean => round === this.#round
    const wholeMs = durationMsOf(this.sound, this.format)
    return defer(() => {
      if (!isCurrent()) return EMPTY
      this.#stopReason = 'completed'
      const startMs = this.scheduler.now()
      const data = { Prompt: this.node, DurationMsec: Math.round(wholeMs) }
      return concat(
        of(told('Prompt Started', data)),
        // Whoever was told that it started may have stopped it already.
        defer(() => (isCurrent() ? packets(this.sound, this.format, this.scheduler) : EMPTY)).pipe(
          takeUntil(this.#stop$),
        ),
        defer(() => of(this.#ended(this.#stopReason, Math.min(wholeMs, this.scheduler.now() - startMs)))),
      )
    }).pipe(
      finalize(() => {
        this.#pending -= 1
      }),
    )
  }

  #ended(reason: Ending, durationMs: number): NodeItem {
    return told('Prompt Ended', { Prompt: this.node, Reason: reason, DurationMsec: Math.round(durationMs) })
  }
}

const told = (name: string, data: Readonly<Record<string, string | number>>): NodeItem =>
  eventItem({ name, channel: allChannels, startMs: -1, endMs: -1, data })

const durationMsOf = (sound: Sound, { sampleRateHz }: AudioFormat): number => (sound.frameCount * 1000) / sampleRateHz

/** The sound in real time; completes when its last packet has lasted. */
const packets = (sound: Sound, format: AudioFormat, scheduler: SchedulerLike): Observable<NodeItem> =>
  defer(() => {
    const packetFrames = Math.round((format.sampleRateHz * packetMs) / 1000)
    const wholeMs = durationMsOf(sound, format)
    let startMs = scheduler.now()
    let sentFrames = 0
    const due = (): readonly NodeItem[] => {
      const latePackets = (scheduler.now() - startMs) / packetMs - sentFrames / packetFrames
      if (latePackets > maxLatePackets) startMs += (latePackets - maxLatePackets) * packetMs
      const packetsDue = Math.floor((scheduler.now() - startMs) / packetMs) + 1
      const items: NodeItem[] = []
      while (sentFrames < Math.min(sound.frameCount, packetsDue * packetFrames)) {
        const samples = sound.samples(sentFrames, packetFrames)
        items.push({ type: 'audio', bytes: encodeSamples(inChannels(samples, format.channels), format.encoding) })
        sentFrames += samples.length
      }
      return items
    }
    return interval(packetMs, scheduler).pipe(
      startWith(-1),
      takeWhile(() => sentFrames < sound.frameCount || scheduler.now() - startMs < wholeMs),
      mergeMap(() => from(due())),
    )
  })

/** The same on every channel. */
const inChannels = (samples: Int16Array, channels: 1 | 2): Int16Array =>
  channels === 1 ? samples : Int16Array.from({ length: samples.length * 2 }, (_none, index) => samples[index >> 1] ?? 0)
