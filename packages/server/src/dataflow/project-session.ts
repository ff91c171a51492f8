import { randomUUID } from 'node:crypto'
import { catchError, EMPTY, finalize, merge, ReplaySubject, Subject, throwError, type Observable } from 'rxjs'
import { withSession, type ModelDescription } from 'rxspeech-engines/engine'
import { traceSegments } from 'rxspeech-engines/traced-engine'
import { type AudioFormat, bytesPerFrame } from 'rxspeech/internal/audio/format'
import { SoundCheck } from 'rxspeech/internal/audio/sound-check/sound-check'
import type { SoundWarning } from 'rxspeech/internal/audio/sound-check/sound-warning'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Settings, StartRequest, UpdateRequest } from 'rxspeech/internal/protocol/dataflow-messages'
import { audioWarning } from 'rxspeech/internal/protocol/event-name'
import type { StartedSession, SessionWatch } from '../monitor/session-watch.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { GraphMonitor, GraphSession } from '../project/runtime/graph-session.js'
import type { OpenGraph } from '../project/runtime/open-graph.js'
import type { Project, ProjectRegistry } from '../project/project.js'
import { audioWarningData } from '../sessions/audio-warning.js'
import { AudioIntake, batchModels, PaceLimit } from '../sessions/audio-intake.js'
import type { Pausable } from '../sessions/back-pressure.js'
import { HeldAudio } from '../sessions/held-audio.js'
import { isGranted, isGrantedByName, openModel, type Rights } from '../sessions/rights.js'
import type { DataflowContext, SessionLimits } from '../sessions/session-context.js'
import { settingsRefusal, startRefusal } from './protocol.js'

/** A call of a node that takes longer than this, in milliseconds, delays every other session. */
const maxCallMs = 1_000

export interface ProjectSessionOptions {
  readonly request: StartRequest
  readonly rights: Rights
  readonly context: DataflowContext
  readonly link: Pausable
  /** When the Start arrived, by the scheduler's clock. */
  readonly requestedAtMs: number
}

/** One run of a project for a session: audio in, the output of its nodes out. */
export class ProjectSession {
  readonly intake: AudioIntake
  /** Completes after the last item, also after `abort`. Errors if the project itself fails. */
  readonly output$: Observable<NodeItem>
  /** The maximum duration of the session, in milliseconds: the tighter limit of the service and of the project. */
  readonly maxSessionMs: number
  readonly #started: Pick<StartedSession, 'tenant' | 'project' | 'sampleRateHz'>
  readonly #audio: HeldAudio
  readonly #audio$: Subject<Uint8Array>
  readonly #abort$ = new ReplaySubject<SpeechError>(1)
  readonly #drain$ = new ReplaySubject<undefined>(1)
  readonly #graph: OpenGraph
  readonly #variables: Variables
  #isAborted = false

  /**
   * Refuses a tenant, project or model that is not granted, invalid settings, and audio that the project does not
   * accept.
   */
  static async open(options: ProjectSessionOptions): Promise<ProjectSession> {
    const { request, rights, context, requestedAtMs } = options
    const refusal = startRefusal(request)
    if (refusal !== undefined) throw refusal
    const project = findProject(request, rights, context.projects)
    const variables: Variables = {
      settings: request.settings ?? {},
      callProperties: request.callProperties ?? {},
      updated$: new Subject(),
    }
    const { models, allowBatch } = batchModels(context.models)
    const { limits, scheduler } = context
    const { sampleRateHz } = request.audio
    const audio$ = new Subject<Uint8Array>()
    const frameBytes = bytesPerFrame(request.audio)
    const audio = new HeldAudio({ frameBytes, sampleRateHz, scheduler, accept: (bytes) => audio$.next(bytes) })
    const session = graphSession(project, { ...options, context: { ...context, models } }, variables, audio)
    const graph = await project.open(session)
    const pace = new PaceLimit({ limits, scheduler, sampleRateHz, requestedAtMs, allowBatch })
    const warning$ = new Subject<NodeItem>()
    const openSoundCheck = (): SoundCheck =>
      new SoundCheck(formatOf(request), (warning) => {
        context.watch?.audioWarning(warning)
        warning$.next(warningItem(warning))
      })
    const intake = new AudioIntake({ frameBytes, sampleRateHz, pace, watch: context.watch, audio, openSoundCheck })
    return new ProjectSession(request, limits, graph, variables, { intake, audio, audio$, warning$ })
  }

  constructor(
    request: StartRequest,
    limits: SessionLimits,
    graph: OpenGraph,
    variables: Variables,
    { intake, audio, audio$, warning$ }: Input,
  ) {
    const { tenant, projectName: project } = request
    this.#started = { tenant, project, sampleRateHz: request.audio.sampleRateHz }
    this.#graph = graph
    this.#variables = variables
    this.maxSessionMs = Math.min(limits.maxSessionMs, graph.maxSessionMs)
    this.intake = intake
    this.#audio = audio
    this.#audio$ = audio$
    const output$ = graph(audio$, { abort$: this.#abort$, drain$: this.#drain$ }).pipe(
      catchError((error: unknown) => (this.#isAborted ? EMPTY : throwError(() => error))),
      finalize(() => warning$.complete()),
    )
    this.output$ = merge(warning$, output$)
  }

  /** The facts of the session for the operator. */
  get facts(): StartedSession {
    return {
      ...this.#started,
      pendingSamples: () => (this.#graph.pendingMs() * this.#started.sampleRateHz) / 1000,
      model: this.#variables.model?.name,
      modelVersion: this.#variables.model?.version,
    }
  }

  /** Merges the settings into those of the session; if they are invalid, changes nothing and returns the refusal. */
  update({ settings, callProperties }: UpdateRequest): SpeechError | undefined {
    const variables = this.#variables
    const next = { ...variables.settings, ...settings }
    const nextProperties = { ...variables.callProperties, ...callProperties }
    const refusal = settingsRefusal(next, nextProperties) ?? this.#graph.checkSettings(next, variables.settings)
    if (refusal !== undefined) return refusal
    // The audio before the request is processed with the former settings.
    this.#audio.flush()
    variables.settings = next
    variables.callProperties = nextProperties
    variables.updated$.next(undefined)
    return undefined
  }

  /** Ends the session early: each recognition emits its final, then the output completes. */
  abort(error: SpeechError): void {
    this.#isAborted = true
    this.#abort$.next(error)
  }

  /** Each recognition ends at the next pause of its channel; after the last of them every other node flushes. */
  drain(): void {
    this.#audio.flush()
    this.#drain$.next(undefined)
  }

  /** No more audio follows: every node flushes, and the output completes after the last event. */
  finish(): void {
    this.#audio.flush()
    this.#audio$.complete()
  }
}

/** The way of the audio: through the intake to where it may be held back, and then into the graph. */
interface Input {
  readonly intake: AudioIntake
  readonly audio: HeldAudio
  readonly audio$: Subject<Uint8Array>
  /** The faults of the audio, which come from no node; completed at the end of the graph. */
  readonly warning$: Subject<NodeItem>
}

const formatOf = ({ audio: { encoding, sampleRateHz, channels } }: StartRequest): AudioFormat => ({
  encoding,
  sampleRateHz,
  channels,
})

/** The event of a fault of one channel, or of the whole stream. */
const warningItem = (warning: SoundWarning): NodeItem => ({
  type: 'event',
  event: {
    name: audioWarning,
    channel: warning.channel ?? -2,
    startMs: warning.atMs,
    data: audioWarningData(warning),
  },
})

/** The facts that an `Update` changes, and the model that a node requested first. */
interface Variables {
  model?: Pick<ModelDescription, 'name' | 'version'>
  settings: Settings
  callProperties: Settings
  readonly updated$: Subject<undefined>
}

const findProject = ({ tenant, projectName }: StartRequest, rights: Rights, projects: ProjectRegistry): Project => {
  // A subscription that was created while the service runs can name a tenant that the service did not know.
  if (isGrantedByName(rights.tenants, tenant)) projects.addTenant(tenant)
  if (!isGranted(rights.tenants, tenant) || !projects.hasTenant(tenant)) {
    throw new SpeechError('tenant-denied', 'The Tenant is not known here, or not granted to this subscription.')
  }
  const project = isGranted(rights.projects, projectName) ? projects.find(tenant, projectName) : undefined
  if (project !== undefined) return project
  throw new SpeechError('project-denied', 'The project is not known here, or not granted to this subscription.')
}

const monitorOf = (watch: SessionWatch): GraphMonitor => ({
  dropped: (loss) => watch.dropped(loss),
  nodeFailed: (failure) => watch.nodeFailed(failure),
})

const graphSession = (
  project: Project,
  { request, rights, context, link }: ProjectSessionOptions,
  variables: Variables,
  incoming: HeldAudio,
): GraphSession => {
  const { audio, language = '', sessionId } = request
  const { limits, watch, models, scheduler, recordingsFolder, onFault } = context
  return {
    format: formatOf(request),
    source: link,
    incoming,
    limits: {
      idleMs: limits.idleMs,
      maxPendingAudioMs: limits.maxPendingAudioMs,
      // Earlier than the session's own deadline, so that the error names the node.
      finishWithinMs: Math.ceil(limits.flushWithinMs * 0.75),
      maxCallMs,
    },
    log: (node, message, fields) => watch?.noted(node, message, fields),
    monitor: watch && monitorOf(watch),
    onFault,
    context: {
      session: {
        id: watch?.facts.sessionId ?? randomUUID(),
        tenant: project.tenant,
        project: project.name,
        clientId: watch?.facts.clientId ?? '',
      },
      language,
      audioOutput: audio.output,
      settings: () => variables.settings,
      callProperties: () => variables.callProperties,
      updated$: variables.updated$.asObservable(),
      engine: async ({ name = '', ...rest }) => {
        const { model, engine } = await openModel(
          models,
          rights,
          { name, ...rest },
          {
            check: context.checkModel,
            session: sessionId ?? watch?.key,
            onRefused: (refused, error) => watch?.startRefused({ tenant: project.tenant, model: refused }, error),
          },
        )
        variables.model ??= model
        return traceSegments(withSession(engine, watch?.facts.sessionId), watch?.span)
      },
      partialIntervalMs: context.partialIntervalMs,
      recordingsFolder,
      scheduler,
    },
  }
}
