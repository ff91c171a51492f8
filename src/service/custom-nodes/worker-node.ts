import { either } from 'fp-ts'
import { Observable } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { AnyNodeDefinition, ConfiguredNode, Node, NodeContext, Resource } from '../nodes/core/node.js'
import type { ResolvedHostOptions } from './custom-node-source.js'
import type { StartNodeWorker } from './node-worker.js'
import type { SentContext, SentResource } from './worker-messages.js'
import { WorkerRun } from './worker-run.js'

/**
 * The same node, but each session's runs in a thread of its own. Options, ports and formats are asked here; the factory
 * and the node run there. An engine is not to be had there: it is a sibling in the project.
 */
export const hostInWorker = (
  definition: AnyNodeDefinition,
  start: StartNodeWorker,
  host: ResolvedHostOptions,
): AnyNodeDefinition => ({
  ...definition,
  // Whatever is in the thread counts as not consumed yet.
  tellsConsumption: true,
  configure: (options) =>
    either.map((configured: ConfiguredNode): ConfiguredNode => ({
      ...configured,
      open: async (context) => {
        const run = new WorkerRun(definition, context, start, host)
        await run.open({
          type: 'open',
          name: definition.name,
          options,
          context: sentContext(context, configured),
        })
        return nodeOf(run)
      },
    }))(definition.configure(options)),
})

const nodeOf =
  (run: WorkerRun): Node =>
  (input$) =>
    new Observable((subscriber) => {
      subscriber.add(() => run.close())
      run.start(subscriber)
      subscriber.add(
        input$.subscribe({
          next: (item) => run.give(item),
          error: (error: unknown) => subscriber.error(error),
          complete: () => run.finish(),
        }),
      )
    })

const sentContext = (context: NodeContext, { uses }: ConfiguredNode): SentContext => {
  const { node, session, inputs, outputs, language, audioOutput, recordingsFolder, idleMs } = context
  return {
    ...{ node, session, inputs, outputs, language, audioOutput, recordingsFolder, idleMs },
    settings: context.settings(),
    callProperties: context.callProperties(),
    resources: Object.fromEntries(
      uses.map(({ resource }): [string, SentResource] => [
        resource,
        sentResource(context.resource(resource), resource),
      ]),
    ),
  }
}

const sentResource = (resource: Resource | undefined, name: string): SentResource => {
  if (resource === undefined) throw new SpeechError('invalid-options', `The project has no resource ${name}.`)
  return resource.kind === 'secret' ? { kind: 'secret', secret: resource.reveal() } : resource
}
