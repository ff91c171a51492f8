import { either } from 'fp-ts'
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
import {
  type AudioFormat,
  encodeSamples,
  eventName,
  flag,
  listOf,
  type Node,
  type NodeContext,
  type NodeItem,
  nonEmptyText,
  oneOfWords,
  type PortFormats,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { matchesPattern, reportItem } from 'rxspeech-server/nodes/core/events'
import { portFormat } from 'rxspeech-server/nodes/core/node-steps'
import { encodings, maxSampleRateHz, minSampleRateHz } from 'rxspeech/internal/audio/format'
import type { Sound } from './tone-cadence.js'
import { oneOf } from 'rxspeech/internal/protocol/validation'

/** The options that all players have; each node adds its own. */
export const playerOptions = {
  on: listOf(nonEmptyText, 100),
  atStart: flag,
  bargeIn: flag,
  maxQueue: wholeNumberFrom(0, 100),
  flushMs: wholeNumberFrom(0, 60_000),
  sampleRateHz: wholeNumberFrom(minSampleRateHz, maxSampleRateHz),
  encoding: oneOfWords(...encodings),
  channels: oneOf(1, 2),
}

export interface PlayerOptions {
  readonly on?: readonly string[] | undefined
  readonly atStart?: boolean | undefined
  readonly bargeIn?: boolean | undefined
  readonly maxQueue?: number | undefined
  readonly flushMs?: number | undefined
  readonly sampleRateHz?: number | undefined
  readonly encoding?: AudioFormat['encoding'] | undefined
  readonly channels?: 1 | 2 | undefined
}

/** The format of the options, then that of the incoming audio, then 16-bit mono at 8000 Hz. */
export const playerFormats = (
  inputs: PortFormats,
  { sampleRateHz, encoding, channels }: PlayerOptions,
): either.Either<string, PortFormats> => {
  const given = inputs['audio'] ?? { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
  return either.right({
    audio: {
      encoding: encoding ?? given.encoding,
      sampleRateHz: sampleRateHz ?? given.sampleRateHz,
      channels: channels ?? given.channels,
    },
  })
}

/** The length of an audio packet, as PROTOCOL 3.2 suggests for clients. */
const packetMs = 20
/** How many packets a stalled process sends at once; the rest is delayed. */
const maxLatePackets = 10

type EndReason = 'completed' | 'interrupted' | 'dropped' | 'finalized'

/**
 * Plays a sound for each event whose name matches one of `on`, and at the start with `atStart` (the default without
 * `on`): audio in packets of 20 ms in real time, by one timer that runs only while a sound plays. `Prompt Started` and
 * `Prompt Ended` {Reason, DurationMsec} report it. Up to `maxQueue` (default 4) sounds wait; a further one ends as
 * `dropped`. With `bargeIn`, `Speech Started` ends the playing and the waiting sounds as `interrupted`. When the input
 * completes, no new sound starts; those that play or wait may continue for `flushMs` (default 5000) and then end as
 * `finalized`.
 */
export const playback = (sound: Sound, options: PlayerOptions, context: NodeContext): Node => {
  const { on, atStart = on === undefined, bargeIn = false, flushMs = 5000, maxQueue = 4 } = options
  const { node, scheduler } = context
  const format = portFormat(context.outputs)
  return (input$) =>
    defer(() => {
      const playlist = new Playlist(node, sound, format, scheduler, maxQueue)
      const react = (item: NodeItem): Observable<NodeItem> => {
        if (item.type !== 'event') return EMPTY
        const { name } = item.event
        if (bargeIn && name === eventName.speechStarted) playlist.stop('interrupted')
        return on?.some((pattern) => matchesPattern(pattern, name)) === true ? playlist.request() : EMPTY
      }
      const inputEnded$ = new Subject<void>()
      const played$ = new Subject<void>()
      const feed$ = concat(atStart ? defer(() => playlist.request()) : EMPTY, input$.pipe(mergeMap(react))).pipe(
        tap({
          complete: () => {
            inputEnded$.next()
            playlist.close()
          },
        }),
      )
      const playing$ = playlist.playing$.pipe(tap({ complete: () => played$.next() }))
      const deadline$ = inputEnded$.pipe(
        switchMap(() => timer(flushMs, scheduler)),
        tap(() => playlist.stop('finalized')),
        ignoreElements(),
        takeUntil(played$),
      )
      return merge(deadline$, playing$, feed$)
    })
}

/** The sounds that play and wait. `stop` starts a new round; sounds of an earlier round are skipped. */
class Playlist {
  readonly #node: string
  readonly #sound: Sound
  readonly #format: AudioFormat
  readonly #scheduler: SchedulerLike
  readonly #maxQueue: number
  readonly #requested$ = new Subject<number>()
  readonly #stopped$ = new Subject<void>()
  #round = 0
  #pending = 0
  #endReason: EndReason = 'completed'

  constructor(node: string, sound: Sound, format: AudioFormat, scheduler: SchedulerLike, maxQueue: number) {
    this.#node = node
    this.#sound = sound
    this.#format = format
    this.#scheduler = scheduler
    this.#maxQueue = maxQueue
  }

  /** Completes when the list is closed and played. */
  get playing$(): Observable<NodeItem> {
    return this.#requested$.pipe(concatMap((round) => this.#play(round)))
  }

  request(): Observable<NodeItem> {
    if (this.#pending > this.#maxQueue) return of(this.#ended('dropped', 0))
    this.#pending += 1
    this.#requested$.next(this.#round)
    return EMPTY
  }

  stop(reason: EndReason): void {
    this.#round += 1
    this.#endReason = reason
    this.#stopped$.next()
  }

  close(): void {
    this.#requested$.complete()
  }

  #play(round: number): Observable<NodeItem> {
    const isCurrent = (): boolean => round === this.#round
    const durationMs = durationMsOf(this.#sound, this.#format)
    return defer(() => {
      if (!isCurrent()) return EMPTY
      this.#endReason = 'completed'
      const startMs = this.#scheduler.now()
      return concat(
        of(reportItem('Prompt Started', { Prompt: this.#node, DurationMsec: Math.round(durationMs) })),
        // A consumer of that event may have stopped the sound already.
        defer(() => (isCurrent() ? packets(this.#sound, this.#format, this.#scheduler) : EMPTY)).pipe(
          takeUntil(this.#stopped$),
        ),
        defer(() => of(this.#ended(this.#endReason, Math.min(durationMs, this.#scheduler.now() - startMs)))),
      )
    }).pipe(
      finalize(() => {
        this.#pending -= 1
      }),
    )
  }

  #ended(reason: EndReason, durationMs: number): NodeItem {
    return reportItem('Prompt Ended', { Prompt: this.#node, Reason: reason, DurationMsec: Math.round(durationMs) })
  }
}

const durationMsOf = (sound: Sound, { sampleRateHz }: AudioFormat): number => (sound.frameCount * 1000) / sampleRateHz

/** The sound in real time; completes at the end of its last packet. */
const packets = (sound: Sound, format: AudioFormat, scheduler: SchedulerLike): Observable<NodeItem> =>
  defer(() => {
    const packetFrames = Math.round((format.sampleRateHz * packetMs) / 1000)
    const durationMs = durationMsOf(sound, format)
    let startMs = scheduler.now()
    let sentFrames = 0
    const duePackets = (): readonly NodeItem[] => {
      const latePackets = (scheduler.now() - startMs) / packetMs - sentFrames / packetFrames
      if (latePackets > maxLatePackets) startMs += (latePackets - maxLatePackets) * packetMs
      const dueCount = Math.floor((scheduler.now() - startMs) / packetMs) + 1
      const items: NodeItem[] = []
      while (sentFrames < Math.min(sound.frameCount, dueCount * packetFrames)) {
        const samples = sound.samples(sentFrames, packetFrames)
        items.push({ type: 'audio', bytes: encodeSamples(toChannels(samples, format.channels), format.encoding) })
        sentFrames += samples.length
      }
      return items
    }
    return interval(packetMs, scheduler).pipe(
      startWith(-1),
      takeWhile(() => sentFrames < sound.frameCount || scheduler.now() - startMs < durationMs),
      mergeMap(() => from(duePackets())),
    )
  })

/** Repeats mono samples on every channel. */
const toChannels = (samples: Int16Array, channels: 1 | 2): Int16Array =>
  channels === 1 ? samples : Int16Array.from({ length: samples.length * 2 }, (_none, index) => samples[index >> 1] ?? 0)
