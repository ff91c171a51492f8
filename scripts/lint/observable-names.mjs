// @ts-check
import { ESLintUtils } from '@typescript-eslint/utils'

/**
 * Whether a type is RxJS's Observable or a subtype, such as Subject.
 *
 * @param {import('typescript').Type} type
 * @returns {boolean}
 */
const isObservable = (type) => {
  if (type.isUnionOrIntersection()) return type.types.some(isObservable)
  if (type.getSymbol()?.name === 'Observable') return true
  // `Subject<number>` is a reference to the class; only the class has base types.
  const declared = 'target' in type ? /** @type {import('typescript').Type} */ (type.target) : type
  return declared.isClassOrInterface() && (declared.getBaseTypes() ?? []).some(isObservable)
}

/**
 * The name of a variable whose value is an Observable ends in `$`. `rxjs-x/finnish` does not fit, because it also
 * requires `$` of functions that return Observables, such as `const dial = () => observable`.
 */
export const observableNames = ESLintUtils.RuleCreator.withoutDocs({
  meta: {
    type: 'suggestion',
    schema: [],
    messages: { dollar: "'{{ name }}' is an Observable: its name must end in $." },
  },
  defaultOptions: [],
  create: (context) => {
    const services = ESLintUtils.getParserServices(context)
    return {
      'VariableDeclarator > Identifier.id': (
        /** @type {import('@typescript-eslint/utils').TSESTree.Identifier} */ node,
      ) => {
        if (node.name.endsWith('$') || !isObservable(services.getTypeAtLocation(node))) return
        context.report({ node, messageId: 'dollar', data: { name: node.name } })
      },
    }
  },
})
