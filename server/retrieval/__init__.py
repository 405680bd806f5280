"""Query to ranking: lexical and dense legs, fusion, evaluation."""
