import { randomUUID } from 'node:crypto'
import { catchError, EMPTY, ReplaySubject, Subject, throwError, type Observable } from 'rxjs'
import { bytesPerFrame, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { Settings, StartRequest, UpdateRequest } from '../../protocol/dataflow-messages.js'
import type { StartedSession, SessionWatch } from '../monitor/session-watch.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { GraphMonitor, GraphSession } from '../project/runtime/graph-session.js'
import type { OpenGraph } from '../project/runtime/open-graph.js'
import type { Project, ProjectRegistry } from '../project/project.js'
import { AudioIntake, batchModels, PaceLimit } from '../sessions/audio-intake.js'
import type { Pausable } from '../sessions/back-pressure.js'
import { isGranted, isGrantedByName, openModel, type Rights } from '../sessions/rights.js'
import type { DataflowContext } from '../sessions/session-context.js'
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
  /** The longest that the session may take, in milliseconds: the limit of the service, or that of the project if tighter. */
  readonly maxSessionMs: number
  readonly #started: Pick<StartedSession, 'tenant' | 'project' | 'sampleRateHz'>
  readonly #audio$ = new Subject<Uint8Array>()
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
    const graph = await project.open(graphSession(project, { ...options, context: { ...context, models } }, variables))
    const { limits, scheduler } = context
    const { sampleRateHz } = request.audio
    const pace = new PaceLimit({ limits, scheduler, sampleRateHz, requestedAtMs, allowBatch })
    return new ProjectSession(request, context, graph, variables, pace)
  }

  constructor(
    request: StartRequest,
    { limits, watch }: DataflowContext,
    graph: OpenGraph,
    variables: Variables,
    pace: PaceLimit,
  ) {
    const { tenant, projectName: project, audio } = request
    this.#started = { tenant, project, sampleRateHz: audio.sampleRateHz }
    this.#graph = graph
    this.#variables = variables
    this.maxSessionMs = Math.min(limits.maxSessionMs, graph.maxSessionMs)
    this.intake = new AudioIntake({
      frameBytes: bytesPerFrame(audio),
      pace,
      watch,
      accept: (bytes) => this.#audio$.next(bytes),
    })
    this.output$ = graph(this.#audio$, { abort$: this.#abort$, drain$: this.#drain$ }).pipe(
      catchError((error: unknown) => (this.#isAborted ? EMPTY : throwError(() => error))),
    )
  }

  /** The facts of the session for the operator. */
  get facts(): StartedSession {
    return {
      ...this.#started,
      pendingSamples: () => (this.#graph.pendingMs() * this.#started.sampleRateHz) / 1000,
      model: this.#variables.model,
    }
  }

  /** Merges the settings into those of the session; if they are invalid, changes nothing and returns the refusal. */
  update({ settings, callProperties }: UpdateRequest): SpeechError | undefined {
    const variables = this.#variables
    const next = { ...variables.settings, ...settings }
    const nextProperties = { ...variables.callProperties, ...callProperties }
    const refusal = settingsRefusal(next, nextProperties) ?? this.#graph.checkSettings(next, variables.settings)
    if (refusal !== undefined) return refusal
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
    this.#drain$.next(undefined)
  }

  /** No more audio follows: every node flushes, and the output completes after the last event. */
  finish(): void {
    this.#audio$.complete()
  }
}

/** The facts that an `Update` changes, and the model that a node requested first. */
interface Variables {
  model?: string
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
): GraphSession => {
  const { audio, language = '' } = request
  const { limits, watch, models, scheduler, recordingsFolder, onFault } = context
  const format: AudioFormat = { encoding: audio.encoding, sampleRateHz: audio.sampleRateHz, channels: audio.channels }
  return {
    format,
    source: link,
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
        const engine = await openModel(models, rights, { name, ...rest })
        variables.model ??= name
        return engine
      },
      recordingsFolder,
      scheduler,
    },
  }
}
