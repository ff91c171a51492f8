import { Subject, Subscription } from 'rxjs'
import { stateAt } from './cassette/cassette-player.js'
import { contentOf, download, exportFormats, type ExportFormat } from './exports.js'
import { createRun, openCassette, type Run } from './run.js'
import { loadConfig, type Model, type StudioConfig } from './session/config.js'
import { Player } from './session/player.js'
import { loadSample, type Source } from './session/sources.js'
import { audioWarningOf, clock, failureOf, failureSentence, isOfMicrophone } from './state/sentences.js'
import { initialState, reduce, type StudioInput, type StudioState } from './state/state.js'
import { audioOf, neighborOf, wordAtMs, type WordAt } from './state/word-cursor.js'
import { CaptionsView } from './views/captions-view.js'
import { showColorScheme } from './views/color-scheme.js'
import { listenToKeys, renderControls } from './views/controls-view.js'
import { renderFacts } from './views/facts-view.js'
import { FiguresView } from './views/figures-view.js'
import { listenToDrops, listenToFiles } from './views/file-input.js'
import {
  chooseModelFor,
  chosenModel,
  enteredToken,
  listenToToken,
  renderModels,
  renderProposal,
  takeProposal,
  withoutModel,
} from './views/model-choice.js'
import { Navigation } from './views/navigation.js'
import { element, elementOf, setText } from './views/page.js'
import { SourceChoice } from './views/source-choice.js'
import { TimelineView } from './views/timeline-view.js'

const muteMs = 15_000

/** The page: it holds the state, and draws it at most once a frame. */
class Studio {
  readonly #captions = new CaptionsView(
    () => this.#draw(),
    (word) => void this.#play(word),
  )
  readonly #figures = new FiguresView()
  readonly #timeline = new TimelineView(
    () => this.#draw(),
    (ms) => this.#placeCursor(ms),
  )
  readonly #navigation = new Navigation(() => this.#config)
  readonly #source = new SourceChoice((kind) => {
    chooseModelFor(kind, this.#config)
    this.#report(this.#config && withoutModel(this.#config))
  })
  readonly #player = new Player()
  readonly #finalize$ = new Subject<void>()
  readonly #stop$ = new Subject<void>()
  #subscription = new Subscription()
  #config: StudioConfig | undefined
  #state: StudioState = initialState
  /** The state at the position of a cassette. */
  #scrubbed: StudioState | undefined
  #run: Run | undefined
  #current: WordAt | undefined
  #playing: WordAt | undefined
  #cursorMs: number | undefined
  #isStarting = false
  /** What a start waits for. */
  #loading: string | undefined
  #frame = 0

  async open(): Promise<void> {
    this.#listen()
    showColorScheme(() => {
      this.#timeline.recolor()
      this.#draw()
    })
    this.#navigation.show()
    try {
      this.#config = await loadConfig()
    } catch (error) {
      this.#report(`${sentenceOf(error)} Check that the service runs, then reload this page.`)
      return
    }
    this.#showModels(this.#config)
    this.#navigation.show()
    this.#draw()
  }

  get #isRunning(): boolean {
    return this.#isStarting || !['idle', 'ended'].includes(this.#state.phase)
  }

  get #model(): Model | undefined {
    return chosenModel(this.#config)
  }

  /** The state that the page shows. */
  get #shown(): StudioState {
    return this.#scrubbed ?? this.#state
  }

  #showModels(config: StudioConfig): void {
    renderModels(config)
    const hasSample = typeof config.sampleCall === 'string'
    for (const id of ['source-sample', 'play-sample']) element(id).hidden = !hasSample
    setText(element('other-sources'), `${hasSample ? 'or use' : 'Use'} the microphone, or drop an audio file here.`)
    if (!hasSample && this.#source.kind === 'sample') this.#source.choose('microphone')
    chooseModelFor(this.#source.kind, config)
    this.#report(withoutModel(config))
  }

  /** A service that gives no token to pages tells a person's token what it may use. */
  async #useToken(): Promise<void> {
    try {
      this.#config = await loadConfig(enteredToken())
      this.#showModels(this.#config)
    } catch (error) {
      this.#report(`${sentenceOf(error)} Check the token.`)
    }
    this.#draw()
  }

  // Sessions

  async #start(): Promise<void> {
    const [config, model] = [this.#config, this.#model]
    if (this.#isRunning || config === undefined || model === undefined) return
    this.#report(undefined)
    renderProposal(config, false)
    this.#isStarting = true
    this.#draw()
    try {
      const source = await this.#source.open(model, () =>
        loadSample(config.sampleCall ?? '', (percent) =>
          this.#showLoading(`Loading the sample call${percent === undefined ? '' : `: ${percent} %`}.`),
        ),
      )
      if (source === undefined) return
      this.#runSession(config, model, source)
      if (source.recording?.fault !== undefined) this.#report(`${source.title}: ${source.recording.fault}`)
    } catch (error) {
      this.#report(sentenceOf(error))
    } finally {
      this.#isStarting = false
      this.#showLoading(undefined)
    }
  }

  #showLoading(sentence: string | undefined): void {
    this.#loading = sentence
    this.#draw()
  }

  #runSession(config: StudioConfig, model: Model, source: Source): void {
    const run = createRun({
      config,
      model,
      source,
      token: enteredToken(),
      finalize$: this.#finalize$,
      stop$: this.#stop$,
      tokenTaken: (expiresAtMs) => this.#take({ type: 'token', expiresAtMs }),
    })
    this.#run = run
    this.#scrubbed = undefined
    this.#cursorMs = undefined
    this.#current = undefined
    renderFacts(config, model, source)
    this.#timeline.reset()
    this.#take({ type: 'started', title: source.title, channels: source.channels })
    if (source.recording !== undefined && elementOf(HTMLInputElement, 'sound').checked)
      this.#player.play(source.recording)
    this.#subscription.unsubscribe()
    this.#subscription = run.live.inputs$.subscribe((input) => {
      const warning = input.type === 'event' ? audioWarningOf(input.event) : undefined
      if (warning !== undefined) this.#report(warning)
      this.#take(input)
      if (input.type === 'ended') this.#sessionEnded()
    })
  }

  #sessionEnded(): void {
    this.#player.stop()
    const { failure, lines } = this.#state
    renderProposal(this.#config, failure === undefined && lines.every(({ words }) => words.length === 0))
    if (failure !== undefined && isOfMicrophone(failure)) this.#report(failureSentence(failure))
    else if (this.#source.kind === 'microphone') void this.#source.listMicrophones()
  }

  #finalize(): void {
    this.#finalize$.next()
    this.#player.stop()
  }

  #stop(): void {
    this.#stop$.next()
    this.#player.stop()
  }

  #cut(): void {
    const { live } = this.#run ?? {}
    if (live === undefined) return
    this.#take({ type: 'cut', audioMs: live.audioMs() })
    live.cut()
  }

  #mute(): void {
    const { live } = this.#run ?? {}
    if (live !== undefined && !live.isMuted()) this.#take(live.mute(muteMs))
  }

  #take(input: StudioInput): void {
    this.#state = reduce(this.#state, input)
    this.#draw()
  }

  // Files

  async #openFile(file: File): Promise<void> {
    if (this.#isRunning) return
    if (/\.(jsonl|ndjson|json)$/i.test(file.name)) return this.#openCassette(file)
    try {
      chooseModelFor('file', this.#config)
      await this.#source.readFile(file, this.#model)
      await this.#start()
    } catch (error) {
      this.#report(`${file.name}: ${sentenceOf(error)}`)
    }
  }

  async #openCassette(file: File): Promise<void> {
    if (this.#isRunning) return
    this.#report(undefined)
    try {
      const run = await openCassette(file)
      const { played } = run
      this.#run = run
      this.#state = stateAt(played, Infinity)
      this.#timeline.reset()
      elementOf(HTMLInputElement, 'scrub').max = String(Math.ceil(played.durationMs))
      this.#scrub(played.durationMs)
      this.#timeline.showAll()
    } catch (error) {
      this.#report(`${file.name}: ${sentenceOf(error)}`)
    }
  }

  #scrub(ms: number): void {
    const { played } = this.#run ?? {}
    if (played === undefined) return
    this.#cursorMs = ms
    this.#scrubbed = stateAt(played, ms)
    elementOf(HTMLInputElement, 'scrub').value = String(ms)
    setText(element('scrub-time'), clock(Math.round(ms / 100) * 100))
    this.#timeline.reveal(ms)
    this.#draw()
  }

  async #export(format: ExportFormat): Promise<void> {
    elementOf(HTMLDetailsElement, 'export').open = false
    if (this.#run === undefined) return
    const { file, type } = exportFormats[format]
    download(new Blob([await contentOf(format, this.#state, this.#run)], { type }), file)
  }

  // Words

  #placeCursor(ms: number): void {
    this.#cursorMs = ms
    this.#current = wordAtMs(this.#shown, ms)
    if (this.#run?.played !== undefined) this.#scrub(Math.min(ms, this.#run.played.durationMs))
    this.#draw()
  }

  #moveCursor(step: 1 | -1): void {
    const next = neighborOf(this.#shown, this.#current, step)
    if (next === undefined) return
    this.#current = next
    this.#cursorMs = next.startMs
    this.#timeline.reveal(next.startMs)
    this.#draw()
  }

  async #play(word: WordAt): Promise<void> {
    const part = audioOf(this.#shown, word)
    const track = this.#run?.tracks[part?.channel ?? 0]
    if (part === undefined || track === undefined) return
    this.#current = word
    this.#playing = word
    this.#cursorMs = part.fromMs
    this.#timeline.reveal(part.fromMs)
    this.#draw()
    const samples = await track.read(part.fromMs, part.toMs)
    this.#player.play({ sampleRateHz: track.sampleRateHz, channels: [samples] }, () => {
      this.#playing = undefined
      this.#draw()
    })
  }

  // The page

  /** A page in the background gets no frames; it draws everything in its next one. */
  #draw(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#drawNow())
  }

  #drawNow(): void {
    this.#frame = 0
    const { played, tracks = [], live } = this.#run ?? {}
    const state = this.#shown
    this.#captions.render(state, this.#current, this.#playing)
    const isLive = this.#isRunning && live !== undefined
    this.#figures.render(state, {
      nowMs: Date.now(),
      capturedMs: isLive ? tracks.reduce((sum, { durationMs }) => sum + durationMs, 0) : 0,
      notice:
        this.#loading ??
        (isLive && !navigator.onLine ? 'This computer is offline. Audio is kept meanwhile.' : undefined),
    })
    const marked = this.#playing ?? this.#current
    this.#timeline.render({
      state: this.#state,
      tracks,
      endMs: Math.max(0, ...tracks.map(({ durationMs }) => durationMs)),
      cursorMs: this.#cursorMs,
      highlight: marked === undefined ? undefined : audioOf(state, marked),
    })
    renderControls({
      phase: state.phase,
      isRunning: this.#isRunning,
      isMuted: live?.isMuted() === true,
      hasModel: this.#model !== undefined,
      hasRun: this.#run !== undefined,
      hasCassette: played !== undefined,
    })
    // The audio grows between events.
    if (!['idle', 'ended'].includes(this.#state.phase)) this.#draw()
  }

  /** Shows what went wrong below the sources, or nothing. */
  #report(sentence: string | undefined): void {
    const notice = element('source-error')
    notice.hidden = sentence === undefined
    notice.textContent = sentence ?? ''
  }

  #listen(): void {
    const onClick = (id: string, act: () => unknown): void => element(id).addEventListener('click', () => void act())
    onClick('start', () => this.#start())
    onClick('play-sample', () => {
      this.#source.choose('sample')
      return this.#start()
    })
    onClick('proposal-take', () => {
      takeProposal(this.#config)
      return this.#start()
    })
    onClick('finalize', () => this.#finalize())
    onClick('stop', () => this.#stop())
    onClick('cut', () => this.#cut())
    onClick('mute', () => this.#mute())
    onClick('open-cassette', () => element('cassette').click())
    onClick('help', showKeys)
    listenToToken(() => void this.#useToken())
    listenToFiles('file', (file) => void this.#openFile(file))
    listenToFiles('cassette', (file) => void this.#openCassette(file))
    listenToDrops((file) => void this.#openFile(file))
    element('export').addEventListener('click', ({ target }) => {
      const format = target instanceof HTMLElement ? target.dataset['format'] : undefined
      if (format !== undefined) void this.#export(format as ExportFormat)
    })
    element('scrub').addEventListener('input', () => this.#scrub(elementOf(HTMLInputElement, 'scrub').valueAsNumber))
    listenToKeys({
      ' ': () => {
        if (this.#isRunning) this.#stop()
        else void this.#start()
      },
      f: () => element('finalize').click(),
      x: () => element('cut').click(),
      arrowleft: () => this.#moveCursor(-1),
      arrowright: () => this.#moveCursor(1),
      enter: () => {
        if (this.#current !== undefined) void this.#play(this.#current)
      },
      '?': showKeys,
    })
  }
}

const showKeys = (): void => elementOf(HTMLDialogElement, 'keys').showModal()

const sentenceOf = (error: unknown): string => failureSentence(failureOf(error))

void new Studio().open()
