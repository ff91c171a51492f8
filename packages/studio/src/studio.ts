import { listenToActions } from './actions.js'
import { Job } from './jobs/job.js'
import { Jobs } from './jobs/jobs.js'
import { Library, type Following } from './library/library.js'
import { NewSessions } from './new-sessions.js'
import { loadConfig, type StudioConfig } from './session/config.js'
import { Playback, wavOf } from './session/playback.js'
import { sentenceOf } from './state/sentences.js'
import { audioOf, type WordAt } from './state/word-cursor.js'
import { CaptionsView } from './views/captions-view.js'
import { showColorScheme } from './views/color-scheme.js'
import { renderControls } from './views/controls-view.js'
import { Cursor } from './views/cursor.js'
import { renderFacts } from './views/facts-view.js'
import { FiguresView } from './views/figures-view.js'
import { JobsView, placeholderOf } from './views/jobs-view.js'
import { Navigation, showStart, type Screen } from './views/navigation.js'
import { element, setText } from './views/page.js'
import { PlayerView } from './views/player-view.js'
import { renderProposal, renderSessionHead } from './views/session-head.js'
import { enteredToken, StartView, withoutModel, type Way } from './views/start-view.js'
import { TimelineView } from './views/timeline-view.js'

const pageTitle = 'rxspeech studio'

/** The page: its sessions, the one that it shows, and what a person does. It is drawn at most once a frame. */
export class Studio {
  readonly #captions = new CaptionsView({
    play: (word) => this.#cursor.seek(word),
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
    (ms) => this.#cursor.place(ms),
  )
  readonly #playback = new Playback(() => this.#draw())
  readonly #playerView = new PlayerView(this.#playback)
  readonly #cursor = new Cursor({ playback: this.#playback, timeline: this.#timeline, draw: () => this.#draw() })
  readonly #start = new StartView()
  readonly #jobs = new Jobs()
  readonly #newSessions = new NewSessions({
    jobs: this.#jobs,
    start: this.#start,
    config: () => this.#config,
    changed: (job) => this.#changed(job),
  })
  readonly #jobsView = new JobsView({ remove: (job) => this.#remove(job) })
  readonly #library = new Library({
    shown: () => this.#shown && { document: this.#shown.document, content: this.#shown.content.bind(this.#shown) },
    current: () => this.#cursor.word,
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
  #frame = 0

  async open(): Promise<void> {
    listenToActions({
      shown: () => this.#shown,
      newSessions: this.#newSessions,
      cursor: this.#cursor,
      player: this.#playerView,
      captions: this.#captions,
      library: this.#library,
      useToken: () => void this.#loadConfig((sentence) => `${sentence} Check the token.`),
      draw: () => this.#draw(),
    })
    showColorScheme(() => {
      this.#timeline.recolor()
      this.#draw()
    })
    this.#navigation.show()
    await this.#loadConfig((sentence) => `${sentence} Reload this page when the service works.`)
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

  // Sessions

  /** A session did something. */
  #changed(job: Job): void {
    this.#draw()
    const { status, state, origin } = job
    const warning = state.warning
    if (warning !== undefined) job.warning = warning
    if (status.type === 'running' && state.phase === 'connecting' && origin === 'sample' && job === this.#shown) {
      this.#cursor.openPlayback()
      this.#playback.play()
    }
    if (status.type === 'running' && !this.#following.has(job))
      this.#following.set(
        job,
        this.#library.follow(job.id, { content: () => job.content(), movedToDisk: (part) => job.moveToDisk(part) }),
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
    if (job === this.#shown) showStart()
    this.#draw()
  }

  /** It was deleted from the list of kept sessions. */
  #removed(id: string): void {
    const job = this.#jobs.find(id)
    if (job !== undefined) this.#jobs.remove(job)
    if (this.#shown?.id === id) showStart()
  }

  /** Opens a session that the browser keeps. */
  async #openKept(id: string): Promise<void> {
    const content = await this.#library.find(id)
    const { screen } = this.#navigation
    if (screen.type !== 'session' || screen.id !== id) return
    if (content === undefined) {
      showStart()
      return
    }
    const job = new Job(content.document, undefined, () => this.#draw())
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
      this.#shown?.close()
      this.#shown = undefined
      this.#cursor.show(undefined)
      this.#library.opened()
    }
    if (screen.type !== 'session') document.title = pageTitle
    this.#draw()
  }

  #showJob(job: Job): void {
    this.#shown?.close()
    this.#shown = job
    this.#timeline.reset()
    this.#cursor.show(job)
    if (!job.isUnfinished || job.origin === 'file') this.#timeline.showAll()
    this.#library.opened()
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
    const { word } = this.#cursor
    // Its slider is one of the instruments.
    const scrubbed = element('panel').hidden ? undefined : this.#cursor.scrubbed
    const state = scrubbed ?? job.state
    const document = this.#library.edited(
      scrubbed === undefined ? job.document : { ...job.document, lines: scrubbed.lines },
    )
    const title = `${document.title} – ${pageTitle}`
    if (title !== globalThis.document.title) globalThis.document.title = title
    this.#cursor.openPlayback()
    const isRunning = job.status.type === 'running'
    const isOffline = isRunning && !navigator.onLine
    renderSessionHead(job, document.title, isOffline ? 'This computer is offline. Audio is kept meanwhile.' : undefined)
    renderProposal(job, this.#config)
    const playing = this.#cursor.heardIn(document)
    const current = this.#playback.isPlaying ? undefined : word
    const isBefore = scrubbed !== undefined && job.state.lines.length > 0
    const placeholder = isBefore ? 'At this time there was no text yet.' : placeholderOf(job)
    this.#captions.render(document, state, placeholder, { current, playing })
    this.#library.drawn()
    this.#playerView.render(this.#playback.durationMs || durationMs || document.durationMs)
    const isCapturing = isRunning && job.origin !== 'file' && live !== undefined
    const marked = playing ?? word
    if (element('panel').hidden) return
    void job.readTracks()
    this.#figures.render(state, {
      nowMs: Date.now(),
      isKept: run === undefined && job.status.type === 'ended',
      capturedMs: isCapturing ? tracks.reduce((sum, track) => sum + track.durationMs, 0) : 0,
    })
    this.#timeline.render({
      state: job.state,
      tracks,
      endMs: Math.max(durationMs, document.durationMs),
      cursorMs: this.#cursor.ms,
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

  /** Shows a word that was searched for. */
  #reveal(word: WordAt): void {
    this.#cursor.word = word
    this.#captions.reveal(word)
    this.#draw()
  }
}
