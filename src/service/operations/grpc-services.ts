import type { Server, ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { loadOptional } from '../../errors/load-optional.js'
import { join } from 'node:path'
import { findPackageRoot } from '../engine/package-root.js'
import { strictDefinition } from './strict-descriptors.js'

/** The services that grpc.health.v1 answers for: the server as a whole, and ours. */
const healthServices = ['', 'dataflow'] as const

export interface GrpcHealth {
  readonly addTo: (server: Server) => void
  readonly setServing: (isServing: boolean) => void
}

/** `grpc.health.v1.Health`, NOT_SERVING until it is told otherwise. Rejects with `missing-dependency`. */
export const openGrpcHealth = async (): Promise<GrpcHealth> => {
  const { HealthImplementation } = await loadOptional(
    'grpc-health-check',
    'The health service',
    () => import('grpc-health-check'),
  )
  const health = new HealthImplementation(Object.fromEntries(healthServices.map((name) => [name, 'NOT_SERVING'])))
  return {
    addTo: (server) => {
      health.addToServer(server)
    },
    setServing: (isServing) => {
      for (const name of healthServices) health.setStatus(name, isServing ? 'SERVING' : 'NOT_SERVING')
    },
  }
}

/** What a client asks, and what it is told, as far as names of services stand in it. */
interface Question {
  readonly messageRequest?: string
  readonly fileContainingSymbol?: string
}
interface Answer {
  readonly originalRequest?: Question
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] } | null
}
type ReflectionStream = ServerDuplexStream<Question, Answer>

/** The package writes names of a proto without a package with a period before them, which no client does. */
const toPackage = (question: Question): Question => {
  const { messageRequest, fileContainingSymbol: symbol } = question
  return messageRequest !== 'fileContainingSymbol' || symbol === undefined || /^(\.|grpc\.)/.test(symbol)
    ? question
    : { ...question, fileContainingSymbol: `.${symbol}` }
}

const toClient = (answer: Answer, asked: Question): Answer => {
  const { listServicesResponse: list } = answer
  const names = list?.service.map(({ name }) => ({ name: name.replace(/^\./, '') }))
  return {
    ...answer,
    originalRequest: asked,
    ...(names === undefined ? {} : { listServicesResponse: { service: names } }),
  }
}

/** The stream as the package's handler sees it; it answers each question before it returns. */
const translated = (stream: ReflectionStream) => {
  let asked: Question = {}
  return {
    on: (name: string, told: (question?: Question) => void) => {
      if (name !== 'data') stream.on(name, () => told())
      else
        stream.on(name, (question: Question) => {
          asked = question
          told(toPackage(question))
        })
    },
    write: (answer: Answer) => stream.write(toClient(answer, asked)),
    end: () => stream.end(),
  }
}

const translating = (handlers: UntypedServiceImplementation): UntypedServiceImplementation =>
  Object.fromEntries(
    Object.entries(handlers).map(([name, handle]) => [
      name,
      (stream: ReflectionStream) => {
        ;(handle as unknown as (stream: ReturnType<typeof translated>) => void)(translated(stream))
      },
    ]),
  )

/** Server reflection (`grpc.reflection.v1` and `v1alpha`) of `dataflow` and `grpc.health.v1`. Rejects with `missing-dependency`. */
export const openGrpcReflection = async (): Promise<(server: Server) => void> => {
  const [{ ReflectionService }, { protoPath }, { loadSync }] = await Promise.all([
    loadOptional('@grpc/reflection', 'Server reflection', () => import('@grpc/reflection')),
    loadOptional('grpc-health-check', 'The health service', () => import('grpc-health-check')),
    import('@grpc/proto-loader'),
  ])
  const own = join(findPackageRoot(__dirname), 'proto', 'dataflow.proto')
  const reflection = new ReflectionService({
    ...strictDefinition(loadSync(own, { keepCase: true }), 'dataflow.proto'),
    ...strictDefinition(loadSync(protoPath, { keepCase: true }), 'grpc/health/v1/health.proto'),
  })
  return (server) => {
    reflection.addToServer({
      addService: (service, handlers) => {
        server.addService(service, translating(handlers))
      },
    })
  }
}
