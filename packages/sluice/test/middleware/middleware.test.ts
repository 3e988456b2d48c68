import { express5, expressFour, fastifyFive, fetchHandler, honoFour, koaThree, nestEleven, node } from './frameworks.ts'
import { middlewareSuite } from './middleware-suite.ts'

middlewareSuite(node)
middlewareSuite(expressFour)
middlewareSuite(express5)
middlewareSuite(fastifyFive)
middlewareSuite(koaThree)
middlewareSuite(honoFour)
middlewareSuite(fetchHandler)
middlewareSuite(nestEleven)
