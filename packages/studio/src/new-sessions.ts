import type { RecognitionOptions } from 'rxspeech'
import { stateAt } from './cassette/cassette-player.js'
import { Job, type OpenAudio } from './jobs/job.js'
import type { Jobs } from './jobs/jobs.js'
import { createFileOpener, openMicrophone, openSample } from './jobs/open-audio.js'
import { openCassette } from './run.js'
import type { Model, StudioConfig } from './session/config.js'
import { wavOf } from './session/playback.js'
import { sentenceOf } from './state/sentences.js'
import type { Origin } from './state/transcript.js'
import { betterModel, optionsFor } from './views/model-order.js'
import { showSession, showStart } from './views/navigation.js'
import { enteredToken, type StartView } from './views/start-view.js'

interface NewSessionsOptions {
  readonly jobs: Jobs
  readonly start: StartView
  /** What the service says of itself, once it has. */
  readonly config: () => StudioConfig | undefined
  /** A session did something. */
  readonly changed: (job: Job) => void
}

/** How sessions begin: with files, the microphone, the sample call, a cassette, or the audio of another session. */
export class NewSessions {
  readonly #options: NewSessionsOptions
  readonly #openFile = createFileOpener()

  constructor(options: NewSessionsOptions) {
    this.#options = options
  }

  open(files: readonly File[]): void {
    const { start, jobs } = this.#options
    const { model, recognition } = start
    const recordings = files.filter(({ name }) => !isCassette(name))
    const cassette = files.find(({ name }) => isCassette(name))
    if (cassette !== undefined) void this.#openCassette(cassette)
    if (model === undefined || recordings.length === 0) return
    start.report('file')
    const added = recordings.map((file) =>
      this.#job(file.name, 'file', model, recognition, this.#openFile(file, model)),
    )
    for (const job of added) jobs.add(job)
    if (cassette === undefined && added[0] !== undefined) showSession(added[0])
  }

  playSample(): void {
    const { start, config } = this.#options
    const { models = [], sampleCall } = config() ?? {}
    const model = models.find(({ isSample }) => isSample === true) ?? start.model
    if (model === undefined || typeof sampleCall !== 'string') return
    this.#add(this.#job('Sample call', 'sample', model, {}, openSample(sampleCall, model)))
  }

  speak(): void {
    const { model, deviceId, recognition } = this.#options.start
    if (model === undefined) return
    this.#add(this.#job('Microphone', 'microphone', model, recognition, openMicrophone(deviceId, model)))
  }

  /** Transcribes the audio of a session again, which the new one replaces if it is not kept. */
  again(before: Job, model = before.plan?.model): void {
    const { plan, title, origin } = before
    if (plan === undefined || model === undefined) return
    if (before.isKept !== true) this.#options.jobs.remove(before)
    this.#add(this.#job(title, origin, model, plan.recognition, plan.open))
  }

  /** Again with the model that is proposed. */
  againBetter(before: Job): void {
    const better = before.plan && betterModel(this.#options.config()?.models ?? [], before.plan.model)
    if (better !== undefined) this.again(before, better)
  }

  /** One at a time of what is live, because there is one microphone and one loudspeaker. */
  #add(job: Job): void {
    const { jobs, start } = this.#options
    if (job.origin !== 'file' && jobs.live !== undefined) return showSession(jobs.live)
    for (const way of ['file', 'speak', 'sample'] as const) start.report(way)
    jobs.add(job)
    showSession(job)
  }

  #job(title: string, origin: Origin, model: Model, recognition: RecognitionOptions, open: OpenAudio): Job {
    const config = this.#options.config()
    if (config === undefined) throw new Error('The service has not described itself yet.')
    const plan = { config, model, recognition: optionsFor(model, recognition), open, token: enteredToken() }
    return new Job({ title, origin }, plan, this.#options.changed)
  }

  async #openCassette(file: File): Promise<void> {
    const { jobs, start } = this.#options
    start.report('file')
    try {
      const run = await openCassette(file)
      const job = new Job({ title: file.name, origin: 'cassette' })
      job.run = run
      job.state = stateAt(run.played, Infinity)
      job.status = { type: 'ended' }
      job.audio = await wavOf(run.tracks)
      jobs.add(job)
      showSession(job)
    } catch (error) {
      start.report('file', `${file.name}: ${sentenceOf(error)}`)
      showStart()
    }
  }
}

const isCassette = (name: string): boolean => /\.(jsonl|ndjson|json)$/i.test(name)
