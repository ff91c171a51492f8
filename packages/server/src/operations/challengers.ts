import { Observable, tap, type SchedulerLike } from 'rxjs'
import {
  withRecognize,
  type Engine,
  type Hypothesis,
  type ModelDescription,
  type RecognizeSettings,
  type SegmentAttempt,
  type SegmentPart,
} from 'rxspeech-engines/engine'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import type { ModelRegistry } from 'rxspeech-engines/models/model-registry'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { Trial, type ChallengeOutcome } from './challenger-trial.js'

/** A segment, and the labels of the model that its session has and of the one that reads beside it. */
export interface Challenge extends Omit<SegmentAttempt, 'attempt'> {
  readonly model: string
  readonly challenger: string
}

export type OnChallenged = (challenge: Challenge, outcome: ChallengeOutcome) => void

export interface ChallengersOptions {
  /** Called once for each segment that was drawn. */
  readonly onChallenged: OnChallenged
  /** Whether the service has too much to do for anything but its sessions. */
  readonly isBusy: () => boolean
  readonly scheduler: SchedulerLike
  /** Draws the segments. @default Math.random */
  readonly random?: (() => number) | undefined
}

const defaultPlaces = 4
/** After a failure a challenger gets no segment for this long, so that a broken model is not loaded for each. */
const restMs = 10_000

/** The places of one challenger in this process. */
interface Places {
  held: number
  restsUntilMs: number
}

/**
 * Reads a part of the segments a second time, by the challenger of their model, once their result is out. Sessions do
 * not notice: what has no place at once is dropped, and a failure is only counted.
 */
export class Challengers {
  readonly #options: ChallengersOptions
  readonly #random: () => number
  readonly #places = new Map<string, Places>()

  constructor(options: ChallengersOptions) {
    this.#options = options
    this.#random = options.random ?? Math.random
  }

  /** Returns a registry to use instead; the same one if it has no releases, and so no challengers. */
  watch(registry: ModelRegistry): ModelRegistry {
    if (registry.release === undefined) return registry
    const challenged = new WeakMap<Engine, Engine>()
    return {
      ...registry,
      engine: async (model) => {
        const engine = await registry.engine(model)
        const known = challenged.get(engine) ?? this.#challenge(engine, model, registry)
        challenged.set(engine, known)
        return known
      },
    }
  }

  #challenge(engine: Engine, model: ModelDescription, registry: ModelRegistry): Engine {
    return withRecognize(
      engine,
      (settings) => (part$) =>
        new Observable((subscriber) => {
          // Of segments without a result, oldest first; undefined for those that were not drawn.
          const trials: (Trial | undefined)[] = []
          subscriber.add(() => {
            for (const trial of trials) trial?.drop()
          })
          const take = (part: SegmentPart): void => {
            if (part.type === 'open') trials.push(this.#draw(model, registry, engine, part.startMs, settings))
            trials.at(-1)?.take(part)
          }
          const receive = (hypothesis: Hypothesis): void => {
            if (hypothesis.type !== 'segment') return
            const trial = hypothesis.decidedSamples === undefined ? trials.shift() : trials[0]
            trial?.decided(hypothesis)
          }
          subscriber.add(
            part$.pipe(tap(take), engine.recognize(settings)).subscribe({
              next: (hypothesis) => {
                subscriber.next(hypothesis)
                receive(hypothesis)
              },
              error: (error: unknown) => subscriber.error(error),
              complete: () => subscriber.complete(),
            }),
          )
        }),
    )
  }

  /** A segment has begun: whether it is one of the part that the challenger gets, and has a place for. */
  #draw(
    model: ModelDescription,
    registry: ModelRegistry,
    engine: Engine,
    startMs: number,
    settings: RecognizeSettings = {},
  ): Trial | undefined {
    const release = registry.release?.(model)?.challenger
    if (release === undefined || this.#random() * 100 >= release.percent) return undefined
    const named = { tenant: model.tenant, name: release.name ?? model.name, version: release.version }
    const { sessionId } = settings
    const challenge = { model: modelLabel(model), challenger: modelLabel(named), sessionId, startMs }
    if (challenge.challenger === challenge.model) return undefined
    const { onChallenged, isBusy, scheduler } = this.#options
    const places = this.#places.get(challenge.challenger) ?? { held: 0, restsUntilMs: -Infinity }
    this.#places.set(challenge.challenger, places)
    const challenger = registry.find(named)
    const spareEngine = (): Promise<Engine> | undefined =>
      challenger === undefined || isBusy() || scheduler.now() < places.restsUntilMs
        ? undefined
        : registry.spareEngine?.(challenger)
    const hasPlace = places.held < (release.places ?? defaultPlaces)
    // It is loaded by the time that the segment ends.
    const loading = hasPlace ? spareEngine() : undefined
    if (loading === undefined) {
      onChallenged(challenge, 'dropped')
      return undefined
    }
    loading.catch(() => undefined)
    places.held += 1
    return new Trial({
      ...{ settings, spareEngine, scheduler },
      logsWords: release.logsWords === true,
      sampleRateHz: engine.capabilities.sampleRateHz,
      ended: (outcome) => {
        places.held -= 1
        if (isSpeechError(outcome)) places.restsUntilMs = scheduler.now() + restMs
        onChallenged(challenge, outcome)
      },
    })
  }
}
