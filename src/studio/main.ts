import { of, Subject, Subscription } from 'rxjs'
import type { Token } from 'rxspeech'
import { AudioTrack } from './audio-track.js'
import { parseCassette } from './cassette-lines.js'
import { playCassette, type PlayedCassette } from './cassette-player.js'
import { CaptionsView, type WordAt } from './captions-view.js'
import { loadConfig, pageTokens, type Model, type StudioConfig } from './config.js'
import { download, exportFormats, toCaptionFile, toText, type ExportFormat } from './exports.js'
import { FiguresView } from './figures-view.js'
import { listMicrophones } from './microphone.js'
import { renderOperations, watchOperations } from './operations-view.js'
import { create, element, elementOf, setText } from './page.js'
import { Player } from './player.js'
import { audioWarningOf, failureOf, failureSentence, isOfMicrophone } from './sentences.js'
import { createSession, type StudioSession } from './session.js'
import { microphoneSource, readAudioFile, recordingSource, type Recording, type Source } from './sources.js'
import { SocketRecorder } from './socket.js'
import { initialState, reduce, type StudioInput, type StudioState } from './state.js'
import { TextLog } from './text-log.js'
import { TimelineView } from './timeline-view.js'
import { clock } from './timeline-geometry.js'

type SourceKind = 'sample' | 'microphone' | 'file'

/** What belongs to the session that runs or ran last. */
interface Run {
  readonly tracks: readonly AudioTrack[]
  readonly events: TextLog
  readonly cassette: TextLog
  readonly session?: StudioSession
  readonly recorder?: SocketRecorder
  readonly played?: PlayedCassette
}

const muteMs = 15_000
/** Estimated times of words are a little late or early. */
const estimateMarginMs = 120

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
  readonly #player = new Player()
  readonly #finalize$ = new Subject<void>()
  readonly #stop$ = new Subject<void>()
  #subscription = new Subscription()
  #operations = new Subscription()
  #config: StudioConfig | undefined
  #kind: SourceKind = 'sample'
  #file: { readonly name: string; readonly recording: Recording } | undefined
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
    this.#setScheme(localStorage.getItem('scheme'))
    this.#route()
    this.#draw()
    try {
      this.#config = await loadConfig()
    } catch (error) {
      this.#report(`${sentenceOf(error)} Check that the service runs, then reload this page.`)
      return
    }
    this.#showModels(this.#config)
    const hasSample = typeof this.#config.sampleCall === 'string'
    for (const id of ['source-sample', 'play-sample']) element(id).hidden = !hasSample
    setText(element('other-sources'), `${hasSample ? 'or use' : 'Use'} the microphone, or drop an audio file here.`)
    if (!hasSample) this.#chooseSource('microphone')
    this.#route()
    this.#draw()
  }

  get #isRunning(): boolean {
    return this.#isStarting || !['idle', 'ended'].includes(this.#state.phase)
  }

  get #model(): Model | undefined {
    return this.#config?.models[elementOf(HTMLSelectElement, 'model').selectedIndex]
  }

  #showModels(config: StudioConfig): void {
    const { models, token } = config
    const options = models.map(({ name, version }) => new Option(version === '' ? name : `${name}, version ${version}`))
    element('model').replaceChildren(...(options.length === 0 ? [new Option('No model')] : options))
    element('token-form').hidden = token !== null
    this.#report(withoutModel(config))
  }

  /** A service that gives no token to pages tells a person's token what it may use. */
  async #useToken(): Promise<void> {
    try {
      this.#config = await loadConfig(this.#token)
      this.#showModels(this.#config)
    } catch (error) {
      this.#report(`${sentenceOf(error)} Check the token.`)
    }
    this.#draw()
  }

  get #token(): string {
    return elementOf(HTMLInputElement, 'token').value.trim()
  }

  // Sessions

  async #start(): Promise<void> {
    const [config, model] = [this.#config, this.#model]
    if (this.#isRunning || config === undefined || model === undefined) return
    this.#report(undefined)
    this.#isStarting = true
    this.#loading = this.#kind === 'sample' ? 'Loading the sample call.' : undefined
    this.#draw()
    try {
      const source = await this.#openSource(config, model)
      if (source !== undefined) this.#runSession(config, model, source)
    } catch (error) {
      this.#report(sentenceOf(error))
    } finally {
      this.#isStarting = false
      this.#loading = undefined
      this.#draw()
    }
  }

  async #openSource(config: StudioConfig, model: Model): Promise<Source | undefined> {
    const rate = model.sampleRateHz ?? 16_000
    if (this.#kind === 'microphone') {
      return microphoneSource(elementOf(HTMLSelectElement, 'devices').value, rate === 8000 ? 8000 : 16_000)
    }
    if (this.#kind === 'file') {
      if (this.#file !== undefined) return recordingSource(this.#file.recording, this.#file.name, [])
      element('file').click()
      return undefined
    }
    const call = await this.#loadCall(config.sampleCall ?? '')
    return recordingSource(await readAudioFile(call, rate), 'Sample call', ['Restaurant', 'Guest'])
  }

  /** Shows how much is loaded, because a slow network takes seconds. */
  async #loadCall(address: string): Promise<Blob> {
    const { ok, status, body, headers } = await fetch(address)
    if (!ok || body === null) throw new Error(`The sample call cannot be loaded: the service answered ${status}.`)
    const totalBytes = Number(headers.get('content-length') ?? 0)
    const parts: Uint8Array<ArrayBuffer>[] = []
    let bytes = 0
    const reader = body.getReader()
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value)
      bytes += part.value.length
      this.#loading = `Loading the sample call${totalBytes > 0 ? `: ${Math.floor((bytes / totalBytes) * 100)} %` : ''}.`
      this.#draw()
    }
    return new Blob(parts)
  }

  #runSession(config: StudioConfig, model: Model, source: Source): void {
    const { sampleRateHz, channels } = source
    const tracks = channels.map(() => new AudioTrack(sampleRateHz))
    const [events, cassette] = [new TextLog(), new TextLog()]
    const startMs = performance.now()
    const recorder = new SocketRecorder(
      { format: { encoding: 'pcm', sampleRateHz, channels: channels.length }, startedAt: new Date().toISOString() },
      (line) => cassette.add(line),
      () => performance.now() - startMs,
    )
    const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
    const token$ =
      config.token === null
        ? of(this.#token)
        : pageTokens(config.token, rejected$, (expiresAtMs) => this.#take({ type: 'token', expiresAtMs }))
    const session = createSession({
      url: config.ws,
      model: model.name,
      tenant: model.tenant,
      modelVersion: model.version === '' ? undefined : model.version,
      token: token$,
      rejected$,
      source,
      tracks,
      socketClass: (channel) => recorder.socketClass(channel),
      finalize$: this.#finalize$,
      stop$: this.#stop$,
    })
    this.#run = { tracks, events, cassette, session, recorder }
    this.#scrubbed = undefined
    this.#cursorMs = undefined
    this.#current = undefined
    this.#showFacts(config, model, source)
    this.#timeline.reset()
    this.#take({ type: 'started', title: source.title, channels })
    if (source.recording !== undefined && elementOf(HTMLInputElement, 'sound').checked)
      this.#player.play(source.recording)
    this.#subscription.unsubscribe()
    this.#subscription = session.inputs$.subscribe((input) => {
      if (input.type === 'event') {
        events.add(JSON.stringify({ ...input.event, channel: input.channel, atMs: Math.round(input.atMs) }))
        if (input.event.type === 'partial') tracks[input.channel]?.partials.add(session.audioMs())
        const warning = audioWarningOf(input.event)
        if (warning !== undefined) this.#report(warning)
      }
      this.#take(input)
      if (input.type === 'ended') this.#sessionEnded(input.failure !== undefined)
    })
  }

  #sessionEnded(hasFailed: boolean): void {
    this.#run?.recorder?.end(hasFailed ? 'error' : 'complete')
    this.#player.stop()
    const { failure } = this.#state
    if (failure !== undefined && isOfMicrophone(failure)) this.#report(failureSentence(failure))
    else if (this.#kind === 'microphone') void this.#listMicrophones()
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
    const { session, recorder } = this.#run ?? {}
    if (session === undefined || recorder === undefined) return
    this.#take({ type: 'cut', audioMs: session.audioMs() })
    recorder.cut()
  }

  #mute(): void {
    const { session } = this.#run ?? {}
    if (session !== undefined && !session.isMuted()) this.#take(session.mute(muteMs))
  }

  #take(input: StudioInput): void {
    this.#state = reduce(this.#state, input)
    this.#draw()
  }

  // Files

  async #openFile(file: File | undefined): Promise<void> {
    if (file === undefined || this.#isRunning) return
    if (/\.(jsonl|ndjson|json)$/i.test(file.name)) return this.#openCassette(file)
    try {
      const rate = this.#model?.sampleRateHz ?? 16_000
      this.#file = { name: file.name, recording: await readAudioFile(file, rate) }
      this.#chooseSource('file')
      await this.#start()
    } catch (error) {
      this.#report(`${file.name}: ${sentenceOf(error)}`)
    }
  }

  async #openCassette(file: File | undefined): Promise<void> {
    if (file === undefined || this.#isRunning) return
    this.#report(undefined)
    try {
      const played = await playCassette(parseCassette(await file.text()), file.name)
      const log = new TextLog()
      for (const { input } of played.inputs) if (input.type === 'event') log.add(JSON.stringify(input.event))
      const cassette = new TextLog()
      cassette.add((await file.text()).trimEnd())
      this.#run = { tracks: played.tracks, events: log, cassette, played }
      this.#state = stateAt(played, Infinity)
      this.#timeline.reset()
      this.#scrub(played.durationMs)
      const scrub = elementOf(HTMLInputElement, 'scrub')
      scrub.max = String(Math.ceil(played.durationMs))
      scrub.value = scrub.max
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
    const { file, type } = exportFormats[format]
    const { events, cassette } = this.#run ?? {}
    if (events === undefined || cassette === undefined) return
    const content =
      format === 'text'
        ? toText(this.#state)
        : format === 'ndjson'
          ? events.blob()
          : format === 'cassette'
            ? cassette.blob()
            : await toCaptionFile(format, this.#state)
    download(new Blob([content], { type }), file)
  }

  // Words

  #placeCursor(ms: number): void {
    this.#cursorMs = ms
    this.#current = wordAtMs(this.#shown, ms)
    if (this.#run?.played !== undefined) this.#scrub(Math.min(ms, this.#run.played.durationMs))
    this.#draw()
  }

  #moveCursor(step: 1 | -1): void {
    const all = wordsInOrder(this.#shown)
    const at = all.findIndex(({ turn, word }) => turn === this.#current?.turn && word === this.#current.word)
    const next = all[at === -1 ? (step === 1 ? 0 : all.length - 1) : at + step]
    if (next === undefined) return
    this.#current = { turn: next.turn, word: next.word }
    this.#cursorMs = next.startMs
    this.#timeline.reveal(next.startMs)
    this.#draw()
  }

  async #play(at: WordAt): Promise<void> {
    const found = this.#wordOf(at)
    const track = this.#run?.tracks[found?.channel ?? 0]
    if (found === undefined || track === undefined) return
    this.#current = at
    this.#playing = at
    this.#cursorMs = found.fromMs
    this.#timeline.reveal(found.fromMs)
    this.#draw()
    const samples = await track.read(found.fromMs, found.toMs)
    this.#player.play({ sampleRateHz: track.sampleRateHz, channels: [samples] }, () => {
      this.#playing = undefined
      this.#draw()
    })
  }

  #wordOf({ turn: id, word: index }: WordAt) {
    const turn = this.#shown.turns.find((other) => other.id === id)
    const word = turn?.words[index]
    if (turn === undefined || word === undefined) return undefined
    const marginMs = word.times === 'estimate' ? estimateMarginMs : 0
    return { channel: turn.channel, fromMs: Math.max(0, word.startMs - marginMs), toMs: word.endMs + marginMs }
  }

  // The page

  get #shown(): StudioState {
    return this.#scrubbed ?? this.#state
  }

  /** A page in the background gets no frames; it draws everything in its next one. */
  #draw(): void {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#drawNow())
  }

  #drawNow(): void {
    this.#frame = 0
    const { played, tracks = [], session } = this.#run ?? {}
    const state = this.#shown
    this.#captions.render(state, this.#current, this.#playing)
    const isLive = this.#isRunning && session !== undefined
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
      highlight: marked === undefined ? undefined : this.#wordOf(marked),
    })
    this.#drawControls(state, session)
    element('scrub-label').hidden = played === undefined
    // The audio grows between events.
    if (!['idle', 'ended'].includes(this.#state.phase)) this.#draw()
  }

  #drawControls({ phase }: StudioState, session: StudioSession | undefined): void {
    const isOpen = this.#isRunning && phase !== 'finalizing'
    const enable = (id: string, isEnabled: boolean): void => {
      element(id).toggleAttribute('disabled', !isEnabled)
    }
    const canStart = !this.#isRunning && this.#model !== undefined
    enable('start', canStart)
    enable('play-sample', canStart)
    enable('finalize', isOpen)
    enable('stop', this.#isRunning)
    enable('cut', isOpen && phase !== 'connecting')
    enable('mute', isOpen && session?.isMuted() !== true)
    enable('open-cassette', !this.#isRunning)
    for (const id of ['source-sample', 'source-microphone', 'source-file', 'model']) enable(id, !this.#isRunning)
    enable('theme', true)
    element('export').hidden = this.#run === undefined
    setText(element('mute'), isOpen && session?.isMuted() === true ? 'Muted' : 'Mute 15 s')
  }

  #showFacts(config: StudioConfig, model: Model, { title, sampleRateHz, channels }: Source): void {
    const facts = [
      ['Source', title],
      [
        'Audio',
        `PCM, 16 bit, ${sampleRateHz / 1000} kHz, ${channels.length === 1 ? '1 channel' : `${channels.length} channels`}`,
      ],
      ['Transport', `WebSocket, ${channels.length === 1 ? 'one connection' : 'one connection for each channel'}`],
      ['Address', config.ws],
      ['Model', `${model.name}, version ${model.version}`],
      ['Projects', `${config.projects.join(', ') || 'none'} (over gRPC, which a page cannot use)`],
    ] as const
    element('facts-list').replaceChildren(
      ...facts.flatMap(([name, value]) => [create('dt', { text: name }), create('dd', { text: value })]),
    )
  }

  #chooseSource(kind: SourceKind): void {
    this.#kind = kind
    for (const other of ['sample', 'microphone', 'file']) {
      element(`source-${other}`).setAttribute('aria-pressed', String(other === kind))
    }
    element('devices-label').hidden = kind !== 'microphone'
    this.#report(this.#config && withoutModel(this.#config))
  }

  async #listMicrophones(): Promise<void> {
    const devices = await listMicrophones()
    const options = devices.map(
      ({ deviceId, label }, index) => new Option(label || `Microphone ${index + 1}`, deviceId),
    )
    element('devices').replaceChildren(...(options.length === 0 ? [new Option('Default microphone', '')] : options))
  }

  /** Shows what went wrong below the sources, or nothing. */
  #report(sentence: string | undefined): void {
    const notice = element('source-error')
    notice.hidden = sentence === undefined
    notice.textContent = sentence ?? ''
  }

  #setScheme(scheme: string | null): void {
    const { dataset } = document.documentElement
    if (scheme === 'dark' || scheme === 'light') dataset['theme'] = scheme
    const isDark = (dataset['theme'] ?? (darkScheme.matches ? 'dark' : 'light')) === 'dark'
    setText(element('theme'), isDark ? 'Light' : 'Dark')
    element('theme').setAttribute('aria-label', `Switch to the ${isDark ? 'light' : 'dark'} scheme`)
    this.#timeline.recolor()
    this.#draw()
  }

  #route(): void {
    const isOperations = location.hash === '#sessions'
    element('session-view').hidden = isOperations
    element('controls').hidden = isOperations
    element('choices').hidden = isOperations
    element('operations-view').hidden = !isOperations
    for (const [id, isCurrent] of [
      ['nav-session', !isOperations],
      ['nav-operations', isOperations],
    ] as const) {
      if (isCurrent) element(id).setAttribute('aria-current', 'page')
      else element(id).removeAttribute('aria-current')
    }
    this.#operations.unsubscribe()
    if (!isOperations || this.#config === undefined) return
    this.#operations = watchOperations(this.#config.metrics, () => !document.hidden).subscribe(renderOperations)
  }

  #listen(): void {
    const onClick = (id: string, act: () => unknown): void => element(id).addEventListener('click', () => void act())
    onClick('start', () => this.#start())
    onClick('play-sample', () => {
      this.#chooseSource('sample')
      return this.#start()
    })
    onClick('finalize', () => this.#finalize())
    onClick('stop', () => this.#stop())
    onClick('cut', () => this.#cut())
    onClick('mute', () => this.#mute())
    onClick('source-sample', () => this.#chooseSource('sample'))
    onClick('source-microphone', () => {
      this.#chooseSource('microphone')
      return this.#listMicrophones()
    })
    onClick('source-file', () => element('file').click())
    onClick('open-cassette', () => element('cassette').click())
    onClick('help', () => elementOf(HTMLDialogElement, 'keys').showModal())
    element('token-form').addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#useToken()
    })
    element('token').addEventListener('change', () => void this.#useToken())
    onClick('theme', () => {
      const isDark =
        getComputedStyle(document.documentElement).colorScheme === 'dark' ||
        (document.documentElement.dataset['theme'] === undefined && darkScheme.matches)
      localStorage.setItem('scheme', isDark ? 'light' : 'dark')
      this.#setScheme(isDark ? 'light' : 'dark')
    })
    for (const [id, open] of [
      ['file', (file: File | undefined) => this.#openFile(file)],
      ['cassette', (file: File | undefined) => this.#openCassette(file)],
    ] as const) {
      const input = elementOf(HTMLInputElement, id)
      input.addEventListener('change', () => {
        void open(input.files?.[0])
        // So that the same file can be chosen again.
        input.value = ''
      })
    }
    element('export').addEventListener('click', ({ target }) => {
      const format = target instanceof HTMLElement ? target.dataset['format'] : undefined
      if (format !== undefined) void this.#export(format as ExportFormat)
    })
    element('scrub').addEventListener('input', () => this.#scrub(elementOf(HTMLInputElement, 'scrub').valueAsNumber))
    document.addEventListener('dragover', (event) => {
      event.preventDefault()
      document.body.classList.add('dropping')
    })
    document.addEventListener('dragleave', ({ relatedTarget }) => {
      if (relatedTarget === null) document.body.classList.remove('dropping')
    })
    document.addEventListener('drop', (event) => {
      event.preventDefault()
      document.body.classList.remove('dropping')
      void this.#openFile(event.dataTransfer?.files[0])
    })
    document.addEventListener('keydown', (event) => this.#onKey(event))
    window.addEventListener('hashchange', () => this.#route())
    darkScheme.addEventListener('change', () => this.#setScheme(null))
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.#route()
    })
  }

  #onKey(event: KeyboardEvent): void {
    const { target, key } = event
    if (event.ctrlKey || event.metaKey || event.altKey || elementOf(HTMLDialogElement, 'keys').open) return
    if (target instanceof HTMLElement && target.matches('input:not([type=checkbox]), select')) return
    const isControl = target instanceof HTMLElement && target.matches('button, a, summary, input')
    if (isControl && (key === ' ' || key === 'Enter')) return
    const act = this.#keys[key.toLowerCase()]
    if (act === undefined) return
    event.preventDefault()
    act()
  }

  readonly #keys: Readonly<Record<string, () => void>> = {
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
    '?': () => elementOf(HTMLDialogElement, 'keys').showModal(),
  }
}

/** Why no session can start. */
const withoutModel = ({ models, token }: StudioConfig): string | undefined =>
  models.length > 0
    ? undefined
    : token === null
      ? 'Enter a token above: this service gives none to pages. "rxspeech token --for-page" requests one.'
      : 'The service has no model. Start it with --models and a folder of models, then reload this page.'

const darkScheme = matchMedia('(prefers-color-scheme: dark)')

const sentenceOf = (error: unknown): string => failureSentence(failureOf(error))

/** The state when this much audio had been captured. */
const stateAt = ({ inputs, title, channels }: PlayedCassette, ms: number): StudioState => {
  let state = reduce(initialState, { type: 'started', title, channels })
  for (const { audioMs, input } of inputs) {
    if (audioMs > ms) break
    state = reduce(state, input)
  }
  return state
}

const wordsInOrder = ({ turns }: StudioState) =>
  turns
    .flatMap(({ id, words }) => words.map(({ startMs, endMs }, word) => ({ turn: id, word, startMs, endMs })))
    .sort((a, b) => a.startMs - b.startMs)

const wordAtMs = (state: StudioState, ms: number): WordAt | undefined =>
  wordsInOrder(state).find(({ startMs, endMs }) => startMs <= ms && ms < endMs)

void new Studio().open()
