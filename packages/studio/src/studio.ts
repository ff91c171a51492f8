import type { RecognitionOptions } from 'rxspeech'
import { stateAt } from './cassette/cassette-player.js'
import { Job, type OpenedAudio } from './jobs/job.js'
import { Jobs } from './jobs/jobs.js'
import { Library, type Following } from './library/library.js'
import { openCassette } from './run.js'
import { loadConfig, type Model, type StudioConfig } from './session/config.js'
import { Playback, wavOf } from './session/playback.js'
import { Player } from './session/player.js'
import { readRecording } from './session/read-recording.js'
import { loadSample, microphoneSource, playedSource, recordedSource } from './session/sources.js'
import { clock, failureOf, failureSentence } from './state/sentences.js'
import type { StudioState } from './state/state.js'
import type { Origin } from './state/transcript.js'
import { audioOf, neighborOf, wordAtMs, type WordAt } from './state/word-cursor.js'
import { CaptionsView } from './views/captions-view.js'
import { showColorScheme } from './views/color-scheme.js'
import { listenToKeys, renderControls } from './views/controls-view.js'
import { renderFacts } from './views/facts-view.js'
import { FiguresView } from './views/figures-view.js'
import { listenToDrops, listenToFiles } from './views/file-input.js'
import { JobsView, placeholderOf } from './views/jobs-view.js'
import { listenToDrawer, listenToToggle } from './views/layout.js'
import { betterModel } from './views/model-order.js'
import { Navigation, type Screen } from './views/navigation.js'
import { element, elementOf, setText } from './views/page.js'
import { PlayerView } from './views/player-view.js'
import { renderProposal, renderSessionHead } from './views/session-head.js'
import { enteredToken, StartView, withoutModel, type Way } from './views/start-view.js'
import { TimelineView } from './views/timeline-view.js'

const pageTitle = 'rxspeech studio'
const muteMs = 15_000
/** The rate of microphones and files for models that take any. */
const defaultRateHz = 16_000

/** The page: its sessions, the one that it shows, and what a person does. It is drawn at most once a frame. */
export class Studio {
  readonly #captions = new CaptionsView({
    play: (word) => this.#seek(word),
    correct: (word, at) => {
      // The first of two clicks has begun to play.
      this.#playback.pause()
      this.#library.correct(word, at)
    },
    renameSpeaker: (channel, at) => this.#library.renameSpeaker(channel, at),
  })
  readonly #figures = new FiguresView()
  readonly #timeline = new TimelineView(
    () => this.#draw(),
    (ms) => this.#placeCursor(ms),
  )
  readonly #playback = new Playback(() => this.#draw())
  readonly #playerView = new PlayerView(this.#playback)
  readonly #words = new Player()
  readonly #start = new StartView()
  readonly #jobs = new Jobs()
  readonly #jobsView = new JobsView({ remove: (job) => this.#remove(job) })
  readonly #library = new Library({
    shown: () => this.#shown && { document: this.#shown.document, content: this.#shown.content.bind(this.#shown) },
    current: () => this.#current,
    reveal: (word) => this.#reveal(word),
    changed: () => this.#draw(),
    removed: (id) => this.#removed(id),
  })
  /** How sessions of this page are being kept. */
  readonly #following = new Map<Job, Following>()
  readonly #navigation = new Navigation(
    () => this.#config,
    (screen) => this.#show(screen),
  )
  #config: StudioConfig | undefined
  #shown: Job | undefined
  /** The state at the position of a cassette. */
  #scrubbed: StudioState | undefined
  #current: WordAt | undefined
  #playingWord: WordAt | undefined
  #cursorMs: number | undefined
  /** Files are decoded one after another, because each takes memory. */
  #reading: Promise<unknown> = Promise.resolve()
  #frame = 0

  async open(): Promise<void> {
    this.#listen()
    showColorScheme(() => {
      this.#timeline.recolor()
      this.#draw()
    })
    this.#navigation.show()
    await this.#loadConfig((sentence) => `${sentence} Check that the service runs, then reload this page.`)
  }

  async #loadConfig(faultOf: (sentence: string) => string): Promise<void> {
    try {
      this.#config = await loadConfig(enteredToken())
    } catch (error) {
      this.#report(faultOf(sentenceOf(error)))
      return
    }
    this.#start.show(this.#config)
    this.#report(withoutModel(this.#config))
    this.#navigation.show()
  }

  // What can be transcribed

  #openFiles(files: readonly File[]): void {
    const { model } = this.#start
    const recordings = files.filter(({ name }) => !isCassette(name))
    const cassette = files.find(({ name }) => isCassette(name))
    if (cassette !== undefined) void this.#openCassette(cassette)
    if (model === undefined || recordings.length === 0) return
    this.#start.report('file')
    const jobs = recordings.map((file) => this.#fileJob(file, model, this.#start.recognition))
    for (const job of jobs) this.#jobs.add(job)
    if (cassette === undefined && jobs[0] !== undefined) go(jobs[0])
  }

  #fileJob(file: File, model: Model, recognition: RecognitionOptions): Job {
    const open = async (progress: (sentence: string) => void): Promise<OpenedAudio> => {
      const before = this.#reading
      const read = async (): Promise<OpenedAudio> => {
        await before.catch(() => undefined)
        progress('Reading the file.')
        const recording = await readRecording(file, model.sampleRateHz ?? defaultRateHz)
        return { source: recordedSource(recording, file.name), audio: file, fault: recording.fault }
      }
      const reading = read()
      this.#reading = reading
      return reading
    }
    return this.#job(file.name, 'file', model, recognition, open)
  }

  #playSample(): void {
    const { models = [], sampleCall = '' } = this.#config ?? {}
    const model = models.find(({ isSample }) => isSample === true) ?? this.#start.model
    if (model === undefined) return
    const open = async (progress: (sentence: string) => void): Promise<OpenedAudio> => {
      const audio = await loadSample(sampleCall ?? '', (percent) =>
        progress(`Loading the sample call${percent === undefined ? '' : `: ${percent} %`}.`),
      )
      const recording = await readRecording(audio, model.sampleRateHz ?? defaultRateHz)
      return { source: await playedSource(recording, 'Sample call', ['Restaurant', 'Guest']), audio }
    }
    this.#startLive(this.#job('Sample call', 'sample', model, {}, open))
  }

  #speak(): void {
    const { model, deviceId, recognition } = this.#start
    if (model === undefined) return
    const rate = (model.sampleRateHz ?? defaultRateHz) === 8000 ? 8000 : 16_000
    const open = (): Promise<OpenedAudio> => Promise.resolve({ source: microphoneSource(deviceId, rate) })
    this.#startLive(this.#job('Microphone', 'microphone', model, recognition, open))
  }

  /** One at a time, because there is one microphone and one loudspeaker. */
  #startLive(job: Job): void {
    if (this.#jobs.live !== undefined) return go(this.#jobs.live)
    for (const way of ['speak', 'sample'] as const) this.#start.report(way)
    this.#playback.pause()
    this.#jobs.add(job)
    go(job)
  }

  #job(title: string, origin: Origin, model: Model, recognition: RecognitionOptions, open: OpenAudio): Job {
    const config = this.#config
    if (config === undefined) throw new Error('The service has not described itself yet.')
    const plan = { config, model, recognition, open, token: enteredToken() }
    return new Job({ title, origin }, plan, (changed) => this.#changed(changed))
  }

  /** Transcribes the audio of a session again with a model that was proposed. */
  #again(): void {
    const { plan, title, origin } = this.#shown ?? {}
    const better = plan === undefined ? undefined : betterModel(this.#config?.models ?? [], plan.model)
    if (plan === undefined || better === undefined || title === undefined || origin === undefined) return
    const job = this.#job(title, origin, better, plan.recognition, plan.open)
    if (origin !== 'file') return this.#startLive(job)
    this.#jobs.add(job)
    go(job)
  }

  async #openCassette(file: File): Promise<void> {
    this.#start.report('file')
    try {
      const run = await openCassette(file)
      const { played } = run
      const job = new Job({ title: file.name, origin: 'cassette' })
      job.run = run
      job.state = stateAt(played, Infinity)
      job.status = { type: 'ended' }
      job.audio = await wavOf(played.tracks)
      this.#jobs.add(job)
      go(job)
    } catch (error) {
      this.#start.report('file', `${file.name}: ${sentenceOf(error)}`)
      location.hash = ''
    }
  }

  // Sessions

  /** A session did something. */
  #changed(job: Job): void {
    this.#draw()
    const { status, state, origin } = job
    const warning = state.warning
    if (warning !== undefined) job.warning = warning
    if (status.type === 'running' && state.phase === 'connecting' && origin === 'sample' && job === this.#shown) {
      this.#openPlayback(job)
      this.#playback.play()
    }
    if (status.type === 'running' && !this.#following.has(job))
      this.#following.set(
        job,
        this.#library.follow(job.id, () => job.content()),
      )
    if (job.isUnfinished) return
    if (status.type === 'failed' && job.durationMs === 0) this.#startFailed(job, status.sentence)
    void this.#ended(job)
  }

  /** Says what failed beside what was pressed, if there is nothing of the session that could be shown. */
  #startFailed(job: Job, sentence: string): void {
    const way: Way | undefined = job.origin === 'microphone' ? 'speak' : job.origin === 'sample' ? 'sample' : undefined
    if (way === undefined) return
    this.#remove(job)
    this.#start.report(way, sentence)
  }

  async #ended(job: Job): Promise<void> {
    if (job.origin === 'microphone') {
      void this.#start.listMicrophones()
      if (job.durationMs > 0) job.audio ??= await wavOf(job.tracks)
    }
    const following = this.#following.get(job)
    this.#following.delete(job)
    job.isKept = (await following?.end()) === true
    this.#jobs.release(this.#shown)
    this.#draw()
  }

  #remove(job: Job): void {
    void this.#following.get(job)?.drop()
    this.#following.delete(job)
    this.#jobs.remove(job)
    if (job === this.#shown) location.hash = ''
    this.#draw()
  }

  /** It was deleted from the list of kept sessions. */
  #removed(id: string): void {
    const job = this.#jobs.find(id)
    if (job !== undefined) this.#jobs.remove(job)
    if (this.#shown?.id === id) location.hash = ''
  }

  /** Opens a session that the browser keeps. */
  async #openKept(id: string): Promise<void> {
    const content = await this.#library.find(id)
    const { screen } = this.#navigation
    if (screen.type !== 'session' || screen.id !== id) return
    if (content === undefined) {
      location.hash = ''
      return
    }
    const job = new Job(content.document)
    job.restore(content)
    this.#showJob(job)
    this.#draw()
  }

  #show(screen: Screen): void {
    if (screen.type === 'session') {
      const job = this.#jobs.find(screen.id)
      if (job !== undefined && job !== this.#shown) this.#showJob(job)
      if (job === undefined && screen.id !== this.#shown?.id) void this.#openKept(screen.id)
    } else if (screen.type === 'start') {
      this.#shown = undefined
      this.#library.opened()
    }
    if (screen.type !== 'session') document.title = pageTitle
    this.#draw()
  }

  #showJob(job: Job): void {
    this.#shown = job
    this.#scrubbed = undefined
    this.#cursorMs = undefined
    this.#current = undefined
    this.#playback.open(undefined)
    this.#timeline.reset()
    const { played } = job.run ?? {}
    if (played !== undefined) {
      elementOf(HTMLInputElement, 'scrub').max = String(Math.ceil(played.durationMs))
      this.#scrub(played.durationMs)
    }
    if (!job.isUnfinished || job.origin === 'file') this.#timeline.showAll()
    this.#library.opened()
  }

  // What is heard

  #openPlayback({ audio, tracks }: Job): void {
    this.#playback.open(audio, tracks.length === 0 ? undefined : () => wavOf(tracks))
  }

  /** Plays from a word on; only the word where there is no recording yet. */
  #seek(word: WordAt): void {
    const job = this.#shown
    const part = job === undefined ? undefined : audioOf(job.document, word)
    if (part === undefined) return
    this.#current = word
    this.#cursorMs = part.fromMs
    if (!this.#playback.hasAudio || job?.origin === 'cassette') return void this.#playWord(word)
    this.#playback.positionMs = part.fromMs
    this.#playback.play()
    this.#draw()
  }

  async #playWord(word: WordAt): Promise<void> {
    const job = this.#shown
    const part = job === undefined ? undefined : audioOf(job.document, word)
    const track = job?.tracks[part?.channel ?? 0]
    if (part === undefined || track === undefined) return
    this.#playback.pause()
    this.#current = word
    this.#playingWord = word
    this.#cursorMs = part.fromMs
    this.#timeline.reveal(part.fromMs)
    this.#draw()
    const samples = await track.read(part.fromMs, part.toMs)
    this.#words.play({ sampleRateHz: track.sampleRateHz, channels: [samples] }, () => {
      this.#playingWord = undefined
      this.#draw()
    })
  }

  #placeCursor(ms: number): void {
    const job = this.#shown
    if (job === undefined) return
    this.#cursorMs = ms
    this.#current = wordAtMs(job.document, ms)
    if (job.run?.played !== undefined) this.#scrub(Math.min(ms, job.run.played.durationMs))
    if (this.#playback.hasAudio) this.#playback.positionMs = ms
    this.#draw()
  }

  #moveCursor(step: 1 | -1): void {
    const next = this.#shown === undefined ? undefined : neighborOf(this.#shown.document, this.#current, step)
    if (next === undefined) return
    this.#current = next
    this.#cursorMs = next.startMs
    this.#timeline.reveal(next.startMs)
    if (!this.#playback.isPlaying) this.#playback.positionMs = next.startMs
    this.#draw()
  }

  #scrub(ms: number): void {
    const { played } = this.#shown?.run ?? {}
    if (played === undefined) return
    this.#cursorMs = ms
    this.#scrubbed = stateAt(played, ms)
    elementOf(HTMLInputElement, 'scrub').value = String(ms)
    setText(element('scrub-time'), clock(Math.round(ms / 100) * 100))
    this.#timeline.reveal(ms)
    this.#draw()
  }

  // The page

  /** A page in the background gets no frames; it draws everything in its next one. */
  #draw(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#drawNow())
  }

  #drawNow(): void {
    this.#frame = 0
    const job = this.#shown
    this.#jobsView.render(this.#jobs.all, job, (each) => this.#library.titleOf(each.document))
    if (job !== undefined && this.#navigation.screen.type === 'session') this.#drawSession(job)
    // The audio grows between events, and the playback goes on.
    if (this.#playback.isPlaying || this.#jobs.all.some(({ isUnfinished }) => isUnfinished)) this.#draw()
  }

  #drawSession(job: Job): void {
    const { run, tracks, durationMs } = job
    const { live } = run ?? {}
    const state = this.#scrubbed ?? job.state
    const document = this.#library.edited(
      this.#scrubbed === undefined ? job.document : { ...job.document, lines: this.#scrubbed.lines },
    )
    const title = `${document.title} – ${pageTitle}`
    if (title !== globalThis.document.title) globalThis.document.title = title
    this.#openPlayback(job)
    const isRunning = job.status.type === 'running'
    const isOffline = isRunning && !navigator.onLine
    renderSessionHead(job, document.title, isOffline ? 'This computer is offline. Audio is kept meanwhile.' : undefined)
    renderProposal(job, this.#config)
    const heard = this.#playback.isPlaying ? wordAtMs(document, this.#playback.positionMs) : undefined
    const playing = this.#playingWord ?? heard
    this.#captions.render(document, state, placeholderOf(job), {
      current: heard === undefined ? this.#current : undefined,
      playing,
    })
    this.#library.drawn()
    this.#playerView.render(this.#playback.durationMs || durationMs || document.durationMs)
    const isCapturing = isRunning && job.origin !== 'file' && live !== undefined
    const marked = playing ?? this.#current
    if (element('panel').hidden) return
    this.#figures.render(state, {
      nowMs: Date.now(),
      capturedMs: isCapturing ? tracks.reduce((sum, track) => sum + track.durationMs, 0) : 0,
    })
    this.#timeline.render({
      state: job.state,
      tracks,
      endMs: Math.max(durationMs, document.durationMs),
      cursorMs: this.#playback.isPlaying ? this.#playback.positionMs : this.#cursorMs,
      highlight: marked === undefined ? undefined : audioOf(document, marked),
    })
    renderFacts(job)
    renderControls(job)
  }

  /** Shows what concerns the whole page, or nothing. */
  #report(sentence: string | undefined): void {
    element('notice').hidden = sentence === undefined
    setText(element('notice'), sentence ?? '')
  }

  /** The key for "go on" and "stop": what it does depends on what is there. */
  #space(): void {
    const job = this.#shown
    if (job === undefined) return this.#playSample()
    if (job.isUnfinished && job.origin !== 'file') job.finish()
    else this.#playerView.toggle()
  }

  #listen(): void {
    const onClick = (id: string, act: () => unknown): void => element(id).addEventListener('click', () => void act())
    onClick('choose-files', () => element('file').click())
    onClick('speak', () => this.#speak())
    onClick('play-sample', () => this.#playSample())
    onClick('proposal-take', () => this.#again())
    onClick('finalize', () => this.#shown?.finish())
    onClick('cancel', () => this.#shown?.cancel())
    onClick('stop', () => this.#shown?.stop())
    onClick('cut', () => this.#cut())
    onClick('mute', () => this.#mute())
    onClick('open-cassette', () => element('cassette').click())
    onClick('help', showKeys)
    const useToken = (): void => void this.#loadConfig((sentence) => `${sentence} Check the token.`)
    element('token-form').addEventListener('submit', useToken)
    listenToFiles('file', (files) => this.#openFiles(files))
    listenToFiles('cassette', (files) => this.#openFiles(files))
    listenToDrops((files) => this.#openFiles(files))
    element('scrub').addEventListener('input', () => this.#scrub(elementOf(HTMLInputElement, 'scrub').valueAsNumber))
    listenToDrawer()
    const togglePanel = listenToToggle('panel-toggle', 'panel', (isOn) => {
      element('panel').hidden = !isOn
      element('session-view').classList.toggle('with-panel', isOn)
      this.#draw()
    })
    const toggleTimes = listenToToggle('times', 'times', (isOn) =>
      element('lines').classList.toggle('with-times', isOn),
    )
    listenToKeys([
      { key: ' ', shown: 'Space', what: 'Play, pause, or finish speaking', act: () => this.#space() },
      { key: 'j', shown: 'J, L', what: 'Jump 5 seconds back or ahead', act: () => this.#playerView.jump(-1) },
      { key: 'l', act: () => this.#playerView.jump(1) },
      { key: '<', shown: '<, >', what: 'Play slower or faster', act: () => this.#playerView.changeSpeed(-1) },
      { key: '>', act: () => this.#playerView.changeSpeed(1) },
      { key: 'arrowleft', shown: '← →', what: 'Move from word to word', act: () => this.#moveCursor(-1) },
      { key: 'arrowright', act: () => this.#moveCursor(1) },
      { key: 'enter', shown: 'Enter', what: 'Play the word', act: () => this.#playCurrent() },
      { key: 'f2', what: 'Correct the word', act: () => this.#correctCurrent() },
      { key: 'c', what: 'Copy the line', act: () => this.#library.copyLine() },
      { key: '/', what: 'Find in the transcript', act: () => this.#library.openFind() },
      { key: 't', what: 'Show or hide the times', act: toggleTimes },
      { key: 'i', what: 'Show or hide the instruments', act: togglePanel },
      { key: 'n', what: 'New transcript', act: () => (location.hash = '') },
      { key: 'f', what: 'Finish: wait for the last words', act: () => this.#shown?.finish() },
      { key: 'x', what: 'Cut the line', act: () => this.#cut() },
      { key: '?', what: 'Show the keys', act: showKeys },
    ])
  }

  #correctCurrent(): void {
    const at = this.#current && this.#captions.elementOf(this.#current)
    if (this.#current !== undefined && at !== undefined) this.#library.correct(this.#current, at)
  }

  /** Shows a word that was searched for. */
  #reveal(word: WordAt): void {
    this.#current = word
    this.#captions.reveal(word)
    this.#draw()
  }

  #playCurrent(): void {
    if (this.#current !== undefined) void this.#playWord(this.#current)
  }

  #cut(): void {
    const job = this.#shown
    const { live } = job?.run ?? {}
    if (job?.status.type !== 'running' || live === undefined) return
    job.take({ type: 'cut', audioMs: live.audioMs() })
    live.cut()
  }

  #mute(): void {
    const { live } = this.#shown?.run ?? {}
    if (live !== undefined && !live.isMuted()) this.#shown?.take(live.mute(muteMs))
  }
}

type OpenAudio = (progress: (sentence: string) => void) => Promise<OpenedAudio>

const go = ({ id }: Job): void => {
  location.hash = `#transcript=${id}`
}

const isCassette = (name: string): boolean => /\.(jsonl|ndjson|json)$/i.test(name)

const showKeys = (): void => elementOf(HTMLDialogElement, 'keys').showModal()

const sentenceOf = (error: unknown): string => failureSentence(failureOf(error))
